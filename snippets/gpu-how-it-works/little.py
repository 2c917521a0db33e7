"""Little's law: the rate of reading, by bytes that each thread has on their way and by warps that are resident.

python little.py             check every kernel; on a GPU also time 35 launch shapes on 512 MiB
python little.py --profile   two ways to keep memory busy, for a profiler
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

GPU = wb.is_gpu()
BYTES = (4, 8, 16, 32, 64)  # a thread's, on their way at once
WARPS = (1, 2, 4, 8, 16, 32, 64)  # resident on each multiprocessor
SMS = cuda.Context.get_device().multiprocessor_count
LATENCY, CEILING = 357e-9, 4.5e12  # seconds and bytes a second: what the prediction assumes

module = wb.module("gpu-how-it-works/little.cu")
kernels = {size: module.get_function(f"read{size}") for size in BYTES}


# --8<-- [start:predict]
def predicted(size: int, warps: int, sms: int = 132) -> float:
    """Bytes a second: what is on its way, divided by how long the way is; never more than memory has."""
    return min(sms * warps * 32 * size / LATENCY, CEILING)


# --8<-- [end:predict]


class Reading:
    """Two inputs that take turns, and their sums."""

    def __init__(self, n: int, rng: np.random.Generator) -> None:
        self.n = n
        words = [np.frombuffer(rng.bytes(4 * n), np.uint32) for _ in range(2)]
        self.totals = [int(w.sum(dtype=np.uint64)) % 2**32 for w in words]
        self.inputs = [cuda.to_device(w) for w in words]
        self.sums = cuda.mem_alloc(4 * SMS * 2048)

    def shape(self, warps: int) -> tuple[tuple[int, int, int], tuple[int, int]]:
        """Block and grid that put `warps` warps on every multiprocessor: one block there, or two."""
        blocks = -(-warps // 32)
        return (32 * warps // blocks, 1, 1), (SMS * blocks, 1)

    def poison(self, _: int) -> None:
        cuda.memset_d32_async(self.sums, 0xFFFFFFFF, SMS * 2048)

    def launch(self, size: int, warps: int, i: int) -> None:
        block, grid = self.shape(warps)
        kernels[size](self.inputs[i % 2], self.sums, np.int64(self.n), block=block, grid=grid)

    def check(self, size: int, warps: int, i: int) -> None:
        block, grid = self.shape(warps)
        got = np.empty(block[0] * grid[0], np.uint32)
        cuda.memcpy_dtoh(got, self.sums)
        what = f"read{size} with {warps} warps, n = {self.n}"
        wb.check(int(got.sum(dtype=np.uint64)) % 2**32, self.totals[i % 2], what=what)

    def once(self, size: int, warps: int, i: int = 0) -> None:
        self.poison(i)
        self.launch(size, warps, i)
        self.check(size, warps, i)


def check_all(rng: np.random.Generator) -> None:
    for n in (1, 31, 1000, 2**16 + 7):
        reading = Reading(n, rng)
        for size in BYTES:
            for warps in (1, 4, 64) if n <= 1000 else (2, 8):
                for i in (0, 1):
                    reading.once(size, warps, i)
        print(f"n = {n:>7,}: {len(BYTES)} kernels, every sum exact")


def measure(rng: np.random.Generator, n: int) -> None:
    reading = Reading(n, rng)
    best = 0.0
    print(f"\nGB/s by resident warps (columns) and bytes a thread (rows)\n{'':8}" + "".join(f"{w:8}" for w in WARPS))
    for size in BYTES:
        rates = []
        for warps in WARPS:
            t = wb.time(
                lambda i, size=size, warps=warps: reading.launch(size, warps, i),
                poison=reading.poison,
                check=lambda i, size=size, warps=warps: reading.check(size, warps, i),
                repeats=15,
                warmup=3,
            )
            rates.append((4 * n / t.median, 4 * n / t.high, 4 * n / t.low))
            wb.timing(f"b{size}_w{warps}", t, 4 * n)
        mid, low, high = zip(*rates, strict=True)
        flight = [32 * warps * size for warps in WARPS]
        wb.series(f"little.b{size}", flight, mid, low=low, high=high, x_unit="B", unit="B/s")
        print(f"{size:8}" + "".join(f"{rate / 1e9:8.0f}" for rate in mid))
        best = max(best, *mid)
        if size == 4:  # one warp with one load a thread waits for nothing but that load
            slowest, median, fastest = (SMS * flight[0] / rate[0] for rate in (low, mid, high))
            wb.value("little.latency", median, "s", (fastest, slowest))
    flight = sorted({32 * warps * size for warps in WARPS for size in BYTES})
    line = [min(SMS * x / LATENCY, CEILING) for x in flight]
    wb.series("little.predicted", flight, line, x_unit="B", unit="B/s")
    wb.value("little.best", best, "B/s")


def claims() -> None:
    wb.claim(
        "one_float_a_thread_is_too_little",
        en="with every warp resident, one 4-byte load a thread reads at most 70 % of the best rate",
        zh="线程束全部驻留时，每线程一个 4 字节加载，读取速率至多是最佳速率的 70 %",
        ratio=("b4_w64.rate", "little.best"),
        at_most=0.7,
        predicted=round(predicted(4, 64) / CEILING, 2),
        source="1.08 MB in flight over 357 ns, of 4.5 TB/s",
        source_zh="在途 1.08 MB 除以 357 ns，再除以 4.5 TB/s",
    )
    wb.claim(
        "a_quarter_of_the_warps_suffices",
        en="16 of 64 warps reach at least 90 % of the best rate with 64 bytes in flight a thread",
        zh="每线程在途 64 字节时，64 个线程束中只驻留 16 个，也能达到最佳速率的 90 % 以上",
        ratio=("b64_w16.rate", "little.best"),
        at_least=0.9,
        predicted=1.0,
        source="4.3 MB in flight, 1.6 MB needed",
        source_zh="在途 4.3 MB，只需 1.6 MB",
    )
    wb.claim(
        "bytes_count_not_warps",
        en="4 warps with 16 bytes a thread read at least 0.85 times as fast as 16 warps with 4 bytes",
        zh="4 个线程束、每线程 16 字节，读取速率至少是 16 个线程束、每线程 4 字节的 0.85 倍",
        ratio=("b16_w4.rate", "b4_w16.rate"),
        at_least=0.85,
        at_most=1.3,
        predicted=1.0,
        source="2 KiB in flight on each multiprocessor, both times",
        source_zh="两种情形下每个多处理器都有 2 KiB 在途",
    )
    wb.claim(
        "warps_add_up",
        en="8 warps read at least 7 times as fast as one, 4 bytes a thread",
        zh="每线程 4 字节时，8 个线程束的读取速率至少是 1 个的 7 倍",
        ratio=("b4_w8.rate", "b4_w1.rate"),
        at_least=7.0,
        predicted=8.0,
        source="Little's law, far below the ceiling",
        source_zh="利特尔定律，远未到上限",
    )


if __name__ == "__main__":
    generator = np.random.default_rng(20261124)
    if "--profile" in sys.argv[1:]:
        reading = Reading(2**26 if GPU else 2**18, generator)
        for size, warps in ((4, 64), (64, 16)):
            reading.once(size, warps)
            print(f"read{size} with {warps} warps a multiprocessor: sum exact")
    else:
        check_all(generator)
        if GPU:
            measure(generator, 2**27)
        else:
            print("no GPU: nothing is timed")
        claims()
