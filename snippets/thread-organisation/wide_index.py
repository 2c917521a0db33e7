"""Indices of 32 and 64 bits: where the narrow ones end, and what the wide ones cost.

python wide_index.py             check; on a GPU also time 2^27 elements, and fill 2^32 + 12345 bytes (4 GiB)
python wide_index.py --profile   launch each kernel once, for a profiler
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

FILE = "thread-organisation/wide.cu"
PROFILED = "thread-organisation/wide_index.py --profile"
INSTRUCTIONS = "smsp__inst_executed.sum"
BLOCK = 256
FAR = 2**32  # where the wide index begins in the last case
POISON = 0x80000000
CASES = ("add32", "add64", "outer2d", "outer32", "outer64", "outer64_far")

module = wb.module(FILE)


def blocks(n: int) -> int:
    return -(-n // BLOCK)


def check_four_ways() -> None:
    """The index of a few threads, four ways, against Python's integers, which never overflow."""
    ends = [(2**23 - 1, 256, 255), (2**23, 256, 0), (2**24 - 1, 256, 255), (2**24, 256, 0)]
    cases = np.array([(0, 256, 31), *ends, (2**30, 1024, 7)], np.uint32)
    out = np.full((len(cases), 4), -7, np.int64)
    columns = [cuda.In(np.ascontiguousarray(cases[:, k])) for k in range(3)]
    module.get_function("four_ways")(*columns, cuda.InOut(out), np.int32(len(cases)), block=(32, 1, 1), grid=(1, 1))
    true = [int(b) * int(d) + int(t) for b, d, t in cases]
    want = [((i + 2**31) % 2**32 - 2**31, i % 2**32, i % 2**32, i) for i in true]
    wb.check(out, np.array(want), what="four ways")
    print(f"{'true index':>18}{'int':>18}{'unsigned':>18}{'too late':>18}{'in time':>18}")
    for i, row in zip(true, out.tolist(), strict=True):
        print(f"{i:18,}" + "".join(f"{way:18,}" for way in row))


def compare(got: np.ndarray, want: np.ndarray, what: str, step: int = 2**18) -> None:
    """As wb.check, but quick when all is well: compared in pieces that fit a cache."""
    if not all((got[i : i + step] == want[i : i + step]).all() for i in range(0, want.size, step)):
        wb.check(got, want, what=what)


class Work:
    """The kernels of the cost section on nx × ny elements, each with its check."""

    def __init__(self, rng: np.random.Generator, nx: int, ny: int) -> None:
        self.nx, self.ny, self.n = nx, ny, nx * ny
        self.cases = CASES if nx >= 1000 else CASES[:-1]  # narrow matrices have too many rows before element 2^32
        rows = ((FAR if self.cases == CASES else 0) + self.n) // nx + 1
        numbers = lambda count: rng.integers(-(2**30), 2**30, count, dtype=np.int32)  # noqa: E731
        self.host = {"a": numbers(self.n), "b": numbers(self.n), "row": numbers(rows), "column": numbers(nx)}
        self.device = {key: cuda.to_device(array) for key, array in self.host.items()}
        self.c = cuda.mem_alloc(4 * self.n)
        self.got = cuda.pagelocked_empty(self.n, np.int32)

    def launch(self, case: str) -> None:
        kernel = module.get_function(case.removesuffix("_far"))
        first, second = (self.device[key] for key in (("a", "b") if case.startswith("add") else ("row", "column")))
        grid = (blocks(self.n), 1)
        if case == "outer2d":
            sizes = np.int32(self.nx), np.int32(self.ny)
            grid = (blocks(self.nx), self.ny)
        else:
            wide = np.int64 if "64" in case else np.int32
            begin = FAR if case.endswith("_far") else 0
            sizes = (wide(self.n),) if case.startswith("add") else (wide(self.nx), wide(begin), wide(self.n))
        kernel(first, second, self.c, *sizes, block=(BLOCK, 1, 1), grid=grid)

    def spoil(self) -> None:
        cuda.memset_d32_async(self.c, POISON, self.n)

    def want(self, case: str) -> np.ndarray:
        h = self.host
        if case.startswith("add"):
            return h["a"] + h["b"]
        first = FAR if case.endswith("_far") else 0
        skipped, rows = first % self.nx, h["row"][first // self.nx :][: self.ny + 1]
        return (rows[:, None] + h["column"][None, :]).reshape(-1)[skipped : skipped + self.n]

    def check(self, case: str, want: np.ndarray) -> None:
        cuda.memcpy_dtoh(self.got, self.c)
        compare(self.got, want, f"{case} of {self.nx} × {self.ny}")

    def once(self, case: str) -> None:
        self.spoil()
        self.launch(case)
        self.check(case, self.want(case))


def time_all(rng: np.random.Generator, nx: int, ny: int) -> None:
    work = Work(rng, nx, ny)
    print(f"\n{nx} × {ny}{'µs':>16}{'GB/s':>8}")
    for case in CASES:
        want, nbytes = work.want(case), (12 if case.startswith("add") else 4) * work.n
        t = wb.time(
            lambda i, case=case: work.launch(case),
            poison=lambda i: work.spoil(),
            check=lambda i, case=case, want=want: work.check(case, want),
        )
        wb.timing(case, t, nbytes)
        print(f"{case:12}{t.median * 1e6:16.1f}{nbytes / t.median / 1e9:8.0f}")
    for buffer in (*work.device.values(), work.c):
        buffer.free()


def fill(n: int, chunk: int = 2**28) -> None:
    """Fill n bytes with both kernels; count the bytes that nobody wrote, and check all others."""
    print()
    pattern = np.tile(np.arange(251, dtype=np.uint8), chunk // 251 + 2)
    buffer, got = cuda.mem_alloc(n + 3), cuda.pagelocked_empty(min(n, chunk), np.uint8)
    for kernel in ("fill_too_late", "fill_in_time"):
        cuda.memset_d32(buffer, 0xFFFFFFFF, -(-n // 4))
        module.get_function(kernel)(buffer, np.int64(n), block=(BLOCK, 1, 1), grid=(blocks(n), 1))
        unwritten = 0
        for start in range(0, n, chunk):
            part = got[: min(chunk, n - start)]
            cuda.memcpy_dtoh(part, int(buffer) + start)
            written = part.size if kernel == "fill_in_time" else max(0, min(part.size, 2**32 - start))
            want = pattern[start % 251 :][:written]
            if written:
                compare(part[:written], want, f"{kernel} of {n:,} bytes, from {start:,} on")
            unwritten += int((part[written:] == 0xFF).sum())
        print(f"{kernel:14} of {n:,} bytes: {unwritten:,} never written")
        if unwritten != (max(0, n - 2**32) if kernel == "fill_too_late" else 0):
            raise AssertionError(f"{kernel}: {unwritten} bytes never written")
        if n > 2**32:
            wb.value(f"{kernel}.unwritten", unwritten, "count")
    buffer.free()


if __name__ == "__main__":
    generator = np.random.default_rng(32)
    if "--profile" in sys.argv[1:]:
        work = Work(generator, *((16384, 8192) if wb.is_gpu() else (512, 256)))
        for case in CASES[:-1]:
            work.once(case)
            print(f"{case}: exact")
    else:
        check_four_ways()
        print()
        for nx, ny in ((1, 1), (31, 1), (67, 41), (1000, 37)):
            work = Work(generator, nx, ny)
            for case in work.cases:
                work.once(case)
            print(f"{nx:5} × {ny:<4} exact in {', '.join(work.cases)}")
        if wb.is_gpu():
            wb.needs(memory=5 * 2**30)
            time_all(generator, 16384, 8192)
            fill(2**32 + 12345)
        else:
            fill(70_001)
            print("no GPU: nothing is timed, and 4 GiB are not filled")
