"""What an allocation costs: from the driver, from PyCUDA's pool, and in stream order.

python pool_alloc.py   use the memory that each gives; on a GPU also time a pair of allocate and free
"""

import ctypes
import time
from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as cuda
import pycuda.tools
import warpbench as wb

GPU = wb.is_gpu()
KIB, MIB = 2**10, 2**20
SIZES = [2**k for k in range(12, 29)]  # 4 KiB to 256 MiB

# --8<-- [start:stream_ordered]
# PyCUDA has no call for stream-ordered allocation, so these go to the driver that it has loaded.
driver = ctypes.CDLL("libcuda.so.1")
KEEP = 4  # CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: bytes that a pool keeps when the device is idle


def ask(name: str, *arguments: object) -> None:
    if status := getattr(driver, name)(*arguments):
        raise RuntimeError(f"{name}: error {status}")


def handle(stream: cuda.Stream | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(stream.handle if stream else 0)


def allocate_async(nbytes: int, stream: cuda.Stream | None = None) -> int:
    """Memory that is there when `stream` gets to this point."""
    address = ctypes.c_uint64()
    ask("cuMemAllocAsync", ctypes.byref(address), ctypes.c_size_t(nbytes), handle(stream))
    return address.value


def free_async(address: int, stream: cuda.Stream | None = None) -> None:
    """Memory that goes back when `stream` gets to this point."""
    ask("cuMemFreeAsync", ctypes.c_uint64(address), handle(stream))


def keep(nbytes: int) -> None:
    """How much freed memory the device's own pool keeps for later, instead of giving it back at the next wait."""
    pool, device = ctypes.c_void_p(), cuda.Context.get_device()
    number = ctypes.c_int()
    ask("cuDeviceGetByPCIBusId", ctypes.byref(number), device.pci_bus_id().encode())
    ask("cuDeviceGetDefaultMemPool", ctypes.byref(pool), number)
    ask("cuMemPoolSetAttribute", pool, KEEP, ctypes.byref(ctypes.c_uint64(nbytes)))


# --8<-- [end:stream_ordered]


class Ways:
    """Allocate and free, by name."""

    def __init__(self) -> None:
        self.pool = pycuda.tools.DeviceMemoryPool()
        self.ways: dict[str, tuple[Callable, Callable]] = {
            "raw": (cuda.mem_alloc, lambda a: a.free()),
            "pool": (self.pool.allocate, lambda a: a.free()),
            "ordered": (allocate_async, free_async),  # the pool gives everything back at each wait: its default
            "ordered_kept": (allocate_async, free_async),
        }

    def choose(self, name: str) -> tuple[Callable, Callable]:
        keep(2**40 if name == "ordered_kept" else 0)
        return self.ways[name]


def check(ways: Ways, fill: cuda.Function, name: str, n: int, rng: np.random.Generator) -> None:
    """Two pieces at a time, both written before either is read: they must not overlap."""
    allocate, free = ways.choose(name)
    seeds = [np.uint32(seed) for seed in rng.integers(2**32, size=2)]
    pieces = [allocate(4 * n) for _ in seeds]
    for piece in pieces:
        cuda.memset_d32(int(piece), 0xFFFFFFFF, n)
    for piece, seed in zip(pieces, seeds, strict=True):
        fill(np.intp(int(piece)), np.int32(n), seed, block=(256, 1, 1), grid=(-(-n // 256), 1))
    for piece, seed in zip(pieces, seeds, strict=True):
        got = np.empty(n, np.uint32)
        cuda.memcpy_dtoh(got, int(piece))
        wb.check(got, np.arange(n, dtype=np.uint32) * np.uint32(2654435761) + seed, what=f"{name}, {n} words")
        free(piece)


# --8<-- [start:pair]
def pair(allocate: Callable, free: Callable, nbytes: int, repeats: int) -> wb.Timing:
    """The host's time for one allocation and its free, on an idle device; the wait between them is not timed."""
    seconds = []
    for _ in range(repeats + 3):
        start = time.perf_counter()
        piece = allocate(nbytes)
        middle = time.perf_counter()
        cuda.Context.synchronize()
        again = time.perf_counter()
        free(piece)
        seconds.append(time.perf_counter() - again + middle - start)
        cuda.Context.synchronize()
    low, median, high = (float(x) for x in np.percentile(seconds[3:], [10, 50, 90]))
    return wb.Timing(median, low, high, repeats)


# --8<-- [end:pair]


def measure(ways: Ways) -> None:
    times: dict[str, list[wb.Timing]] = {}
    for name in ways.ways:
        allocate, free = ways.choose(name)
        of_size = times[name] = [pair(allocate, free, nbytes, 40) for nbytes in SIZES]
        median, low, high = ([getattr(t, which) for t in of_size] for which in ("median", "low", "high"))
        wb.series(f"pair.{name}", SIZES, median, x_unit="B", unit="s", low=low, high=high)
        for tag, nbytes in (("small", 4 * KIB), ("medium", MIB), ("large", 64 * MIB)):
            wb.timing(f"{name}_{tag}", of_size[SIZES.index(nbytes)])
    ways.pool.stop_holding()
    print(f"\n{'bytes':>12}" + "".join(f"{name:>14}" for name in times) + f"{'µs':>6}")
    for k, nbytes in enumerate(SIZES):
        print(f"{nbytes:12,}" + "".join(f"{of_size[k].median * 1e6:14.2f}" for of_size in times.values()))


def main() -> None:
    ways, fill = Ways(), wb.module("memory-management/alloc.cu").get_function("fill")
    rng = np.random.default_rng(20261125)
    for n in (1, 31, 1000, 2**20 + 7):
        for name in ways.ways:
            check(ways, fill, name, n, rng)
        print(f"{4 * n:>9,} bytes twice from each of {', '.join(ways.ways)}: every word right")
    if GPU:
        measure(ways)
    else:
        print("no GPU: nothing is timed")
    keep(0)


if __name__ == "__main__":
    main()
