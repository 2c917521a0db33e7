"""Which calls wait? The device is kept busy for 3 ms, then the host makes one call and looks at its watch.

python who_waits.py   check what each call does; on a GPU also how long the host is held
"""

import time
from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from pool_alloc import allocate_async, free_async

GPU = wb.is_gpu()
KIB, MIB = 2**10, 2**20
SMALL, LARGE = 16 * KIB, 16 * MIB if GPU else 64 * KIB
rng = np.random.default_rng(20261124)
module = wb.module("memory-management/transfer.cu")
busy, invert = module.get_function("busy"), module.get_function("invert")
mark = cuda.mem_alloc(4)


# --8<-- [start:held]
def held(stream: cuda.Stream | None, call: Callable[[], object], nanoseconds: int) -> tuple[float, float]:
    """How long `call` holds the host while `stream` is busy, and how long the stream was busy in all."""
    token = np.uint32(rng.integers(2**32))
    cuda.Context.synchronize()
    start = time.perf_counter()
    busy(np.uint64(nanoseconds), mark, token, block=(1, 1, 1), grid=(1, 1), stream=stream)
    launched = time.perf_counter()
    call()
    returned = time.perf_counter()
    cuda.Context.synchronize()
    end = time.perf_counter()
    got = np.empty(1, np.uint32)
    cuda.memcpy_dtoh(got, mark)
    wb.check(got[0], token, what="the mark of the busy kernel")
    return returned - launched, end - start


# --8<-- [end:held]


class Copies:
    """Each call once, with the data that it has to leave."""

    def __init__(self, nbytes: int) -> None:
        self.n = nbytes // 4
        self.data = np.frombuffer(rng.bytes(nbytes), np.uint32)
        self.host = {"pinned": cuda.pagelocked_empty(self.n, np.uint32), "pageable": np.empty(self.n, np.uint32)}
        self.source, self.target = cuda.to_device(self.data), cuda.mem_alloc(nbytes)
        self.stream = cuda.Stream()

    def up(self, kind: str, stream: cuda.Stream | None) -> Callable[[], object]:
        self.host[kind][:] = self.data
        cuda.memset_d32(self.target, 0xFFFFFFFF, self.n)
        if stream is None:
            return lambda: cuda.memcpy_htod(self.target, self.host[kind])
        return lambda: cuda.memcpy_htod_async(self.target, self.host[kind], stream)

    def down(self, kind: str, stream: cuda.Stream) -> Callable[[], object]:
        self.host[kind][:] = 0
        return lambda: cuda.memcpy_dtoh_async(self.host[kind], self.source, stream)

    def across(self) -> Callable[[], object]:
        cuda.memset_d32(self.target, 0xFFFFFFFF, self.n)
        return lambda: cuda.memcpy_dtod(self.target, self.source, 4 * self.n)

    def arrived(self, where: str) -> None:
        """Looked at through a kernel where the device is the target."""
        got = np.empty(self.n, np.uint32)
        if where == "target":
            invert(self.target, np.int64(self.n), block=(256, 1, 1), grid=(64, 1))
            cuda.memcpy_dtoh(got, self.target)
            got = ~got
        else:
            got[:] = self.host[where]
        if not np.array_equal(got, self.data):
            wb.check(got, self.data, what=f"copy to {where}")


def main() -> None:
    small, large = Copies(SMALL), Copies(LARGE)
    s = large.stream
    fresh: list = []  # what a call has allocated
    ready: list = []  # what a call is going to free

    def allocates(allocate: Callable[[], object]) -> Callable[[], Callable[[], object]]:
        return lambda: lambda: fresh.append(allocate())

    def frees(allocate: Callable[[], object], free: Callable) -> Callable[[], Callable[[], object]]:
        def prepare() -> Callable[[], object]:
            ready.append(allocate())
            cuda.Context.synchronize()
            return lambda: free(ready.pop())

        return prepare

    def copies(what: str, stream: cuda.Stream | None, prepare: Callable, on: Copies, where: str) -> tuple:
        return what, stream, prepare, lambda: on.arrived(where)

    t = small.stream
    # what it is, which stream is busy, the call, what to look at afterwards
    calls: dict[str, tuple[str, cuda.Stream | None, Callable, Callable[[], object] | None]] = {
        "pinned_up": copies("H2D async, pinned", s, lambda: large.up("pinned", s), large, "target"),
        "pinned_down": copies("D2H async, pinned", s, lambda: large.down("pinned", s), large, "pinned"),
        "pageable_up_small": copies(
            "H2D async, pageable, 16 KiB", t, lambda: small.up("pageable", t), small, "target"
        ),
        "pageable_up": copies("H2D async, pageable", s, lambda: large.up("pageable", s), large, "target"),
        "pageable_down": copies("D2H async, pageable", s, lambda: large.down("pageable", s), large, "pageable"),
        "sync_up_small": copies("H2D, pageable, 16 KiB", None, lambda: small.up("pageable", None), small, "target"),
        "sync_up": copies("H2D, pageable", None, lambda: large.up("pageable", None), large, "target"),
        "sync_pinned_up": copies("H2D, pinned", None, lambda: large.up("pinned", None), large, "target"),
        "across": copies("D2D", None, large.across, large, "target"),
        "alloc": ("allocate 64 MiB", None, allocates(lambda: cuda.mem_alloc(64 * MIB)), None),
        "free": ("free 64 MiB", None, frees(lambda: cuda.mem_alloc(64 * MIB), lambda a: a.free()), None),
        "alloc_async": ("allocate 64 MiB in order", s, allocates(lambda: allocate_async(64 * MIB, s)), None),
        "free_async": (
            "free 64 MiB in order", s, frees(lambda: allocate_async(64 * MIB, s), lambda a: free_async(a, s)), None
        ),
    }  # fmt: skip
    runs, nanoseconds = (9, 3_000_000) if GPU else (1, 1000)
    totals, lines = [], {}
    for name, (what, stream, prepare, look) in calls.items():
        times = []
        for _ in range(runs):
            held_for, total = held(stream, prepare(), nanoseconds)
            if look:
                look()
            for allocation in fresh:
                allocation.free() if hasattr(allocation, "free") else free_async(allocation, s)
            fresh.clear()
            times.append(held_for)
            totals.append(total)
        low, median, high = (float(x) for x in np.percentile(times, [10, 50, 90]))
        if GPU:
            wb.value(f"{name}.held", median, "s", (low, high))
        lines[what] = median
    if GPU:
        wb.value("busy.time", nanoseconds * 1e-9, "s")
        print(f"{'call while the stream is busy for 3 ms':40}{'held, ms':>12}{'ms':>6}")
    for what, median in lines.items():
        print(f"{what:40}" + (f"{median * 1e3:12.3f}" if GPU else "right"))


if __name__ == "__main__":
    main()
