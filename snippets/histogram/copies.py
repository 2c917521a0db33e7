"""How many copies of the bins, and in which layout: passes over shared memory by count, and on a GPU the time.

python copies.py   check and count; on a GPU also time 2^28 bytes, uniform and all equal
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _hist import BINS, BLOCK, PER_SM, Problem
from skew import KINDS, passes

COPIES = (1, 2, 4, 8, 16, 32)
# --8<-- [start:words]
WORDS = {
    "apart": lambda bins, copy, copies: copy * BINS + bins,
    "padded": lambda bins, copy, copies: copy * (BINS + 1) + bins,
    "interleaved": lambda bins, copy, copies: bins * copies + copy,
}
# --8<-- [end:words]

module = wb.module("histogram/copies.cu")
grid = (PER_SM * cuda.Context.get_device().multiprocessor_count, 1)


def launch(name: str, *more: np.generic):
    kernel = module.get_function(name)
    return lambda x, out, n: kernel(x, out, np.uint32(n), *more, block=(BLOCK, 1, 1), grid=grid)


def gigabytes(problem: Problem, name: str, *more: np.generic) -> wb.Timing | None:
    """Check; on a GPU also time."""
    run = launch(name, *more)
    if wb.is_gpu():
        return problem.time(run, name, repeats=30)
    problem.clear()
    problem.run(run)
    problem.check(name)
    return None


rng = np.random.default_rng(20261123)
size = 2**28 if wb.is_gpu() else 2**20 + 5
print(f"{size:,} bytes: passes per addition of a warp" + (", GB/s" if wb.is_gpu() else "; all counts exact"))
for kind in ("uniform", "equal"):
    data = KINDS[kind](rng, size)
    problem = Problem(data)
    part = data[: 2**17].reshape(-1, 32).astype(np.int64)
    lane = np.arange(32)
    print(f"{kind:12}" + "".join(f"{f'{r} copies' if r > 1 else '1 copy':>15}" for r in COPIES))
    for layout, word in WORDS.items():
        line, counted, rates = f"{layout:12}", [], []
        for copies in COPIES:
            counted.append(passes(word(part, lane % copies, copies)))
            t = gigabytes(problem, f"{layout}_{copies}")
            line += f"{counted[-1]:15.2f}" if t is None else f"{counted[-1]:7.2f}{size / t.median / 1e9:8.0f}"
            if t is not None:
                rates.append((size / t.median, size / t.high, size / t.low))
                if copies in (1, 32):
                    wb.timing(f"{kind}_{layout}_{copies}", t, size)
        wb.series(f"{kind}_{layout}.passes", [float(r) for r in COPIES], counted, x_unit="count", unit="count")
        if rates:
            middle, low, high = ([rate[which] for rate in rates] for which in range(3))
            wb.series(f"{kind}_{layout}.rates", [float(r) for r in COPIES], middle, x_unit="count", unit="B/s",
                      low=low, high=high)  # fmt: skip
        print(line)
    for name in ("amount_1", "amount_32"):
        t = gigabytes(problem, name, np.uint32(1))
        if t is not None:
            wb.timing(f"{kind}_{name}", t, size)
            print(f"{name:12}{size / t.median / 1e9:8.0f} GB/s")
    problem.free()
