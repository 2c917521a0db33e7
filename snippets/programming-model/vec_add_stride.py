"""c = a + b: a thread for each element against a grid that strides, and how many blocks it takes.

python vec_add_stride.py             check at n = 1, 31, 1000 …; on a GPU also time 2^26 integers over the grid
python vec_add_stride.py --profile   launch each kernel once for a profiler: 2^26 integers (softcuda: 2^16)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK = 256
GPU = wb.is_gpu()

module = wb.module("programming-model/vec_add.cu")
kernels = {name: module.get_function(name) for name in ("add_each", "add_stride", "add_narrow", "add_wide")}
sms = cuda.Context.get_device().multiprocessor_count
FULL = sms * (2048 // BLOCK)  # as many blocks as the device holds at a time
rng = np.random.default_rng()
received = cuda.pagelocked_empty(2**26 if GPU else 2**18 + 7, np.int32)


class Sum:
    """a and b on the device, a place for c, and the c that NumPy gets."""

    def __init__(self, n: int) -> None:
        self.n = n
        a, b = (rng.integers(-(2**30) + 1, 2**30, n, dtype=np.int32) for _ in range(2))  # no sum overflows
        self.want = a + b
        self.a, self.b, self.c = cuda.to_device(a), cuda.to_device(b), cuda.mem_alloc(4 * n)

    def poison(self) -> None:
        """-2^31 is nobody's sum."""
        cuda.memset_d32_async(self.c, 0x80000000, self.n)

    def launch(self, name: str, blocks: int, threads: int = BLOCK) -> None:
        length = np.int32(self.n) if name == "add_narrow" else np.int64(self.n)
        kernels[name](self.a, self.b, self.c, length, block=(threads, 1, 1), grid=(blocks, 1))

    def check(self, what: str) -> None:
        got = received[: self.n]
        cuda.memcpy_dtoh(got, self.c)
        if not np.array_equal(got, self.want):
            wb.check(got, self.want, what=f"{what} at n = {self.n}")

    def run(self, name: str, blocks: int, threads: int = BLOCK) -> None:
        self.poison()
        self.launch(name, blocks, threads)
        self.check(f"{name}<<<{blocks}, {threads}>>>")


def cover(n: int) -> int:
    """Blocks that give every element a thread."""
    return -(-n // BLOCK)


def check_all(data: Sum) -> None:
    data.run("add_each", cover(data.n))
    for blocks in (7, FULL):
        for name in ("add_stride", "add_narrow", "add_wide"):
            data.run(name, blocks)
    if data.n <= 1000:
        data.run("add_stride", 1, 1)
    print(f"n = {data.n:>10,}: each, stride, narrow, wide: exact")


def timed(sets: list[Sum], name: str, blocks: int, threads: int = BLOCK, repeats: int = 50) -> wb.Timing:
    """Two sets of arrays take turns. What takes long is repeated less often."""
    return wb.time(
        lambda i: sets[i % 2].launch(name, blocks, threads),
        poison=lambda i: sets[i % 2].poison(),
        check=lambda i: sets[i % 2].check(f"{name}<<<{blocks}, {threads}>>>"),
        repeats=repeats,
        warmup=min(5, repeats // 2),
    )


def time_all(sets: list[Sum]) -> None:
    n = sets[0].n
    nbytes = 12 * n

    def copied(i: int) -> None:
        got, want = received[:n], np.empty(n, np.int32)
        cuda.memcpy_dtoh(got, sets[i % 2].c)
        cuda.memcpy_dtoh(want, sets[i % 2].a)
        if not np.array_equal(got, want):
            wb.check(got, want, what="copy")

    copy = wb.time(
        lambda i: cuda.memcpy_dtod_async(sets[i % 2].c, sets[i % 2].a, 4 * n),
        poison=lambda i: sets[i % 2].poison(),
        check=copied,
    )
    wb.timing("copy", copy, 8 * n)
    print(f"\ncopy of 4 n bytes        {copy.median * 1e6:9.1f} µs {8 * n / copy.median / 1e9:6.0f} GB/s")
    for label, name, blocks in (
        ("each", "add_each", cover(n)),
        ("stride", "add_stride", FULL),
        ("narrow", "add_narrow", FULL),
        ("cover", "add_stride", cover(n)),
        ("wide", "add_wide", FULL),
    ):
        t = timed(sets, name, blocks)
        wb.timing(label, t, nbytes)
        print(f"{name:11}{blocks:7} blocks {t.median * 1e6:9.1f} µs {nbytes / t.median / 1e9:6.0f} GB/s")

    grids = [1, 4, 16, 64, 256, 512, 1024, 2048, 2**12, 2**14, 2**16, 2**18]
    times = [timed(sets, "add_stride", blocks, repeats=5 if blocks < 64 else 20) for blocks in grids]
    rates = [[nbytes / t for t in (x.median, x.high, x.low)] for x in times]
    median, low, high = zip(*rates, strict=True)
    wb.series("grid.sweep", grids, median, x_unit="count", unit="B/s", low=low, high=high)
    wb.value("one_block.rate", median[0], "B/s", (low[0], high[0]))

    small = [Sum(2**20), Sum(2**20)]
    t = timed(small, "add_stride", 1, 1, repeats=5)
    wb.timing("one_thread", t, 12 * 2**20)
    print(f"one block:  {median[0] / 1e9:8.2f} GB/s\none thread: {12 * 2**20 / t.median / 1e9:8.3f} GB/s")


if __name__ == "__main__":
    if "--profile" in sys.argv[1:]:
        data = Sum(2**26 if GPU else 2**16)
        for name in kernels:
            data.run(name, cover(data.n) if name == "add_each" else FULL)
            print(f"{name} at n = {data.n}: exact")
    else:
        for n in (1, 31, 1000, 2**18 + 7):
            check_all(Sum(n))
        if GPU:
            large = [Sum(2**26), Sum(2**26)]
            check_all(large[0])
            time_all(large)
        else:
            print("no GPU: nothing is timed")
