"""Recompute published figures, row by row: each passes, fails, or cannot be told.

python table_audit.py   every row; then how large a share of the possible inputs gives what is printed
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _audit import Row, interval, rows

DRAWS, INPUTS = 2**13, 2
MIX = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def uniform(i: np.ndarray, k: int) -> np.ndarray:
    """The kernel's draws, by NumPy's wrap-around arithmetic."""
    z = (i.astype(np.uint64) * np.uint64(8) + np.uint64(k + 1)) * np.uint64(MIX[0])
    for shift, factor in ((30, MIX[1]), (27, MIX[2])):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def tables(found: list[Row]) -> dict[str, np.ndarray]:
    """The rows as the kernel wants them."""
    ends = np.zeros((2, len(found), INPUTS))
    power = np.zeros((len(found), INPUTS), np.int32)
    for r, row in enumerate(found):
        for k, (text, exponent) in enumerate(row.inputs):
            ends[:, r, k], power[r, k] = interval(text), exponent
    least, most = np.array([interval(row.printed) for row in found]).T
    scale = np.array([row.scale for row in found])
    return {"low": ends[0], "high": ends[1], "power": power, "scale": scale, "least": least.copy(), "most": most.copy()}


def shares(found: list[Row], draws: int = DRAWS) -> np.ndarray:
    """Of `draws` sets of inputs that round to the printed ones, how many give the printed result."""
    table = tables(found)
    count = cuda.mem_alloc(4 * len(found))
    cuda.memset_d32(count, 0xFFFFFFFF, len(found))
    kernel = wb.module("reading-papers/audit.cu").get_function("agree")
    buffers = [cuda.to_device(np.ascontiguousarray(column)) for column in table.values()]
    kernel(*buffers, count, np.int32(INPUTS), np.int32(draws), block=(256, 1, 1), grid=(len(found), 1))
    got = cuda.from_device(count, len(found), np.int32)
    i, want = np.arange(draws), []
    for r in range(len(found)):
        result = np.full(draws, table["scale"][r])
        for k in range(INPUTS):
            low, high, power = (table[name][r, k] for name in ("low", "high", "power"))
            x = low + (high - low) * uniform(i, k)
            result = result * x if power > 0 else result / x if power < 0 else result
        want.append(np.count_nonzero((table["least"][r] <= result) & (result <= table["most"][r])))
    wb.check(got.astype(np.int64), np.array(want), what="draws that agree")
    return got / draws


def show(found: list[Row]) -> None:
    """A line a row, under its source's name; `share`: of the inputs that round so, how many give what is printed."""
    told = [row for row in found if not row.untold]
    share = dict(zip(map(id, told), shares(told), strict=True))
    for where in dict.fromkeys(row.where for row in found):
        print(f"{where:43}{'printed':>8}{'recomputed':>17}{'share':>8}")
        for row in (row for row in found if row.where == where):
            if row.untold:
                print(f"untold  {row.what:35}{row.printed:>8}{'needs ' + row.untold[0]:>17}")
                continue
            ends = [f"{end:,.0f}" if end > 1e5 else f"{end:,.5g}" for end in row.range()]
            text = "–".join(dict.fromkeys(ends))
            print(f"{row.verdict():8}{row.what:35}{row.printed:>8}{text:>17}{share[id(row)]:8.1%}")


if __name__ == "__main__":
    audited = rows()
    show(audited)
    verdicts = [row.verdict() for row in audited]
    for verdict in ("passes", "fails", "cannot be told"):
        print(f"{verdict}: {verdicts.count(verdict)} of {len(verdicts)}")
        wb.value(f"audit.{verdict.split()[0]}", verdicts.count(verdict), "count")
