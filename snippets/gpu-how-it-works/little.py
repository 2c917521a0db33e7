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
WARPS = (1, 2, 4, 8, 16, 32, 64)  # resident on each SM
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
        """Block and grid that put `warps` warps on every SM: one block there, or two."""
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
