"""Managed memory, 64 MiB and not more: who touches it first, what a fault brings, and what a prefetch saves.

python managed_touch.py   check; on a GPU also time touches by the device and by the host, and count what waited
"""

import ctypes
import time
from collections.abc import Callable, Iterable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

GPU = wb.is_gpu()
MIB = 2**20
SIZE = 64 * MIB if GPU else MIB  # in all: managed memory beyond the device's can bring a machine to a stop
PAGE = 4096
THREADS, BLOCKS = 256, 528 if GPU else 8
WAITED = 5_000  # nanoseconds: no access to memory takes that long, and no fault is that short
rng = np.random.default_rng(20261128)
pool = np.frombuffer(rng.bytes(2 * SIZE), np.uint32)
module = wb.module("memory-management/managed.cu")
total, walk = module.get_function("total"), module.get_function("walk")

# --8<-- [start:advice]
driver = ctypes.CDLL("libcuda.so.1")
READ_MOSTLY = 1  # CU_MEM_ADVISE_SET_READ_MOSTLY: each side may keep a copy until somebody writes


class Location(ctypes.Structure):
    """CUmemLocation: type 1 and a device's number, or type 2 for the host."""

    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


DEVICE, HOST = Location(1, 0), Location(2, 0)


def ask(name: str, *arguments: object) -> None:
    if status := getattr(driver, name)(*arguments):
        raise RuntimeError(f"{name}: error {status}")


def span(array: np.ndarray) -> tuple[ctypes.c_uint64, ctypes.c_size_t]:
    return ctypes.c_uint64(array.ctypes.data), ctypes.c_size_t(array.nbytes)


def prefetch(array: np.ndarray, where: Location) -> None:
    """Enqueue, on the default stream, that the pages move there."""
    ask("cuMemPrefetchAsync_v2", *span(array), where, ctypes.c_uint(0), None)


def advise(array: np.ndarray, advice: int) -> None:
    ask("cuMemAdvise_v2", *span(array), ctypes.c_int(advice), DEVICE)


# --8<-- [end:advice]


class Managed:
    """An array that both sides see, and the sums that a kernel leaves."""

    def __init__(self, nbytes: int) -> None:
        self.n = nbytes // 4
        self.array = cuda.managed_empty(self.n, np.uint32, mem_flags=cuda.mem_attach_flags.GLOBAL)
        self.plain = cuda.mem_alloc(nbytes)
        self.shares = cuda.mem_alloc(4 * THREADS * BLOCKS)
        self.want = 0

    def fill(self) -> None:
        """Fresh data by the host, which brings the pages to it; `want` is what a kernel is to find."""
        start = int(rng.integers(pool.size - self.n))
        fresh = pool[start : start + self.n]
        self.array[:] = fresh
        self.want = int(fresh.sum(dtype=np.uint64))
        cuda.memset_d32(self.shares, 0xFFFFFFFF, THREADS * BLOCKS)

    def touch(self, data: object = None) -> None:
        """Read and add one, all over."""
        where = np.intp(self.array.ctypes.data) if data is None else data
        total(where, self.shares, np.int64(self.n), block=(THREADS, 1, 1), grid=(BLOCKS, 1))

    def check(self, touches: int = 1) -> None:
        """What the last touch found, and that each left its one: the host looks, and so takes the pages back."""
        cuda.Context.synchronize()
        got = np.empty(THREADS * BLOCKS, np.uint32)
        cuda.memcpy_dtoh(got, self.shares)
        found = int(got.sum(dtype=np.uint64)) % 2**32
        wb.check(found, (self.want + (touches - 1) * self.n) % 2**32, what=f"sum of {self.n} words")
        left = int(self.array.sum(dtype=np.uint64)) % 2**32
        after = (self.want + touches * self.n) % 2**32
        wb.check(left, after, what="what the host finds afterwards")


def check_all() -> None:
    for n in (1, 31, 1000, 2**16 + 7):
        managed = Managed(4 * n)
        for ask_before in (lambda m: None, lambda m: prefetch(m.array, DEVICE), lambda m: advise(m.array, READ_MOSTLY)):
            managed.fill()
            ask_before(managed)
            managed.touch()
            managed.check()
            managed.touch()
            managed.check(touches=2)
            prefetch(managed.array, HOST)
            managed.check(touches=2)
        print(f"{4 * n:>8,} bytes: host and device see what the other wrote")


# --- What waits ------------------------------------------------------------------------------------------------------


# --8<-- [start:walked]
def walked(order: Iterable[int], prepare: Callable[[np.ndarray], object]) -> np.ndarray:
    """Nanoseconds of each step of a thread that goes through the pages in this order."""
    order = np.fromiter(order, np.int64)
    pages, words = order.size, PAGE // 4
    array = cuda.managed_empty(pages * words, np.uint32, mem_flags=cuda.mem_attach_flags.GLOBAL)
    array[:] = 0  # the host touches every page
    array[order[:-1] * words] = order[1:]
    array[order[-1] * words] = order[0]
    prepare(array)
    visited = cuda.to_device(np.full(pages + 1, 0xFFFFFFFF, np.uint32))
    stamps = cuda.to_device(np.zeros(pages + 1, np.uint64))
    walk(np.intp(array.ctypes.data), visited, stamps, np.int32(pages), np.int32(words), block=(1, 1, 1), grid=(1, 1))
    got, at = np.empty(pages + 1, np.uint32), np.empty(pages + 1, np.uint64)
    cuda.memcpy_dtoh(got, visited)
    cuda.memcpy_dtoh(at, stamps)
    wb.check(got.astype(np.int64), np.append(order, order[0]), what="the pages visited")
    return np.diff(at.astype(np.int64))


# --8<-- [end:walked]


def orders(pages: int) -> dict[str, np.ndarray]:
    """Page after page, and shuffled; both begin with page 0."""
    shuffled = np.random.default_rng(7).permutation(np.arange(1, pages))
    return {"in_order": np.arange(pages), "shuffled": np.concatenate([[0], shuffled])}


def walks() -> None:
    pages = SIZE // PAGE
    for name, order in orders(pages).items():
        for how, prepare in (("fault", lambda a: None), ("prefetched", lambda a: prefetch(a, DEVICE))):
            steps = walked(order, prepare)
            if not GPU:
                print(f"{pages} pages, {name}, {how}: all visited in this order")
                continue
            slow = steps[steps > WAITED]
            wb.value(f"{name}_{how}.waits", slow.size, "count")
            wb.value(f"{name}_{how}.time", steps.sum() * 1e-9, "s")
            wb.value(f"{name}_{how}.step", float(np.median(steps)) * 1e-9, "s")
            if how == "fault":
                wb.value(f"{name}_wait.time", float(np.median(slow)) * 1e-9 if slow.size else 0.0, "s")
            longest = f"{np.median(slow) * 1e-3:.1f} µs" if slow.size else "0 µs"
            print(
                f"{pages} pages, {name}, {how}: this time {slow.size} steps waited, {longest} each; "
                f"{steps.sum() * 1e-6:.2f} ms in all"
            )


# --- Times -----------------------------------------------------------------------------------------------------------


def nothing() -> None:
    pass


def timing(seconds: list[float]) -> wb.Timing:
    low, median, high = (float(x) for x in np.percentile(seconds, [10, 50, 90]))
    return wb.Timing(median, low, high, len(seconds))


def on_device(
    managed: Managed,
    launch: Callable[[], object],
    *,
    before: Callable[[], object] = nothing,
    after: Callable[[], object] = nothing,
    touches: int = 1,
) -> wb.Timing:
    """`launch` by events, after the host has filled the array and `before` has been done."""
    seconds = []
    for _ in range(7):
        managed.fill()
        before()
        cuda.Context.synchronize()
        start, stop = cuda.Event(), cuda.Event()
        start.record()
        launch()
        stop.record()
        stop.synchronize()
        after()
        managed.check(touches)
        seconds.append(stop.time_since(start) * 1e-3)
    return timing(seconds)


def by_host(managed: Managed, before: Callable[[], object]) -> wb.Timing:
    """The host's time to add up the array, after the device has touched it and `before` has been done."""
    seconds = []
    for _ in range(7):
        managed.fill()
        managed.touch()
        before()
        cuda.Context.synchronize()
        start = time.perf_counter()
        left = int(managed.array.sum(dtype=np.uint64))
        seconds.append(time.perf_counter() - start)
        wb.check(left % 2**32, (managed.want + managed.n) % 2**32, what="what the host finds")
    return timing(seconds)


def measure() -> None:
    managed = Managed(SIZE)
    pinned = cuda.pagelocked_empty(managed.n, np.uint32)

    # --8<-- [start:ways]
    def prefetched() -> None:
        prefetch(managed.array, DEVICE)
        managed.touch()

    def copied() -> None:
        cuda.memcpy_htod_async(managed.plain, pinned)
        managed.touch(managed.plain)

    # --8<-- [end:ways]

    times = {
        "faulting": on_device(managed, managed.touch),
        "prefetching": on_device(managed, prefetched),
        "resident": on_device(managed, managed.touch, before=managed.touch, touches=2),
        "copying": on_device(
            managed,
            copied,
            before=lambda: np.copyto(pinned, managed.array),
            after=lambda: cuda.memcpy_dtoh(managed.array, managed.plain),
        ),
        "host_faulting": by_host(managed, nothing),
        "host_prefetching": by_host(managed, lambda: prefetch(managed.array, HOST)),
        "host_resident": by_host(managed, lambda: managed.array.sum()),
    }
    for name, t in times.items():
        wb.timing(name, t, nbytes=SIZE)
        print(f"{name:20}{t.median * 1e3:9.3f} ms")


def what_the_system_says() -> None:
    """Whether ordinary memory can be touched by kernels (HMM, ATS), as the driver tells."""
    device, attributes = cuda.Context.get_device(), cuda.device_attribute
    names = ("CONCURRENT_MANAGED_ACCESS", "PAGEABLE_MEMORY_ACCESS", "PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES")
    for name in names:
        answer = device.get_attribute(getattr(attributes, name))
        print(f"device: {name} is {answer}")
        if GPU:
            wb.value(name.lower(), answer, "count")


def main() -> None:
    check_all()
    walks()
    what_the_system_says()
    if GPU:
        measure()
    else:
        print("no GPU: nothing is timed")


if __name__ == "__main__":
    main()
