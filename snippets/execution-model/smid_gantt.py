"""Where blocks run, and when: each block logs its SM and the time.

python smid_gantt.py   check what the log must obey; on a GPU also the staircase of waves and a schedule against a model
"""

import heapq
from dataclasses import dataclass

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _driver import Module

THREADS = 256
ALONE = 120 << 10  # bytes of shared memory a block asks for in order to have an SM to itself
NEVER = np.uint64(2**64 - 1)

kernel = wb.module("execution-model/trace.cu").get_function("log_blocks")
kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, ALONE)
query = Module("execution-model/trace.cu").get_function("log_blocks")
query.allow_dynamic_shared(ALONE)
SMS = cuda.Context.get_device().multiprocessor_count


# --8<-- [start:log]
@dataclass
class Log:
    """Of each block: its SM, and when it started and stopped, in seconds since the first start."""

    sm: np.ndarray
    start: np.ndarray
    stop: np.ndarray

    def span(self) -> float:
        return float(self.stop.max())

    def crowd(self) -> np.ndarray:
        """The most blocks that each SM held at once."""
        most = np.zeros(self.sm.max() + 1, int)
        for sm in np.unique(self.sm):
            mine = self.sm == sm
            when = np.concatenate([self.start[mine], self.stop[mine]])
            change = np.repeat([1, -1], mine.sum())
            order = np.lexsort((change, when))  # at one and the same time a stop comes first
            most[sm] = np.cumsum(change[order]).max()
        return most


def run(cycles: np.ndarray, *, threads: int = THREADS, shared: int = 0) -> Log:
    """Launch one block for each entry of `cycles`; a block keeps busy for that many clocks."""
    n = cycles.size
    sm, start, stop = np.full(n, -1, np.int32), np.full(n, NEVER), np.full(n, NEVER)
    arrays = cuda.In(cycles.astype(np.uint32)), cuda.InOut(sm), cuda.InOut(start), cuda.InOut(stop)
    kernel(*arrays, block=(threads, 1, 1), grid=(n, 1), shared=shared)
    if not ((sm >= 0).all() and (stop != NEVER).all() and (start > 0).all() and (start < stop).all()):
        raise AssertionError(f"{n} blocks: not every block has a multiprocessor, a start and a later stop")
    zero = start.min()
    return Log(sm, (start - zero) * 1e-9, (stop - zero) * 1e-9)


# --8<-- [end:log]


# --8<-- [start:model]
def one_by_one(seconds: np.ndarray, places: int) -> float:
    """When the last block ends if each block, in order, takes the first place that falls free."""
    free = [0.0] * places
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def dealt_out(seconds: np.ndarray, places: int) -> float:
    """When the last block ends if block i has place i % places, whatever happens."""
    return max(float(seconds[i::places].sum()) for i in range(places))


# --8<-- [end:model]


def check_crowds() -> None:
    """No SM may hold more blocks than the driver says it can, and each block has exactly one."""
    cycles = 20_000 if wb.is_gpu() else 200
    reached = []
    print(f"{'threads':>8}{'shared':>9}{'blocks':>8}{'limit':>7}")
    for threads, shared in ((32, 0), (31, 0), (256, 0), (1000, 0), (1024, 0), (256, 40_000), (256, ALONE)):
        limit = query.blocks_per_sm(threads, shared)
        blocks = SMS * limit * 2 + 7 if wb.is_gpu() else 2 * SMS + 7
        log = run(np.full(blocks, cycles), threads=threads, shared=shared)
        crowd, used = log.crowd(), np.unique(log.sm).size
        if log.sm.max() >= SMS or crowd.max() > limit:
            raise AssertionError(f"{threads} threads: {crowd.max()} blocks at once on one of {used} SMs; limit {limit}")
        said = f"   most at once on one SM, this time: {crowd.max()}; SMs used: {used}" if wb.is_gpu() else ""
        print(f"{threads:>8}{shared:>9}{blocks:>8}{limit:>7}{said}")
        reached.append(crowd.max() / limit)
    print("no multiprocessor ever held more blocks than the driver's limit; every block ran on one of them")
    if wb.is_gpu():
        wb.value("crowd.least", min(reached), "1")
        wb.value("crowd.most", max(reached), "1")


def spread() -> None:
    """On how many SMs do the first blocks of a grid land that would fit on a few?"""
    log = run(np.full(SMS, 200_000), threads=32)
    wb.value("first.share", np.unique(log.sm).size / SMS, "1")
    print(f"{SMS} blocks of 32 threads, of which one SM could hold 32: on {np.unique(log.sm).size} SMs this time")


def staircase() -> None:
    """Equal blocks, one per SM: the time of a grid over its number of blocks."""
    cycles = np.uint32(100_000)  # about 50 µs
    most = 4 * SMS + SMS // 2
    counts = sorted({1, most, *(SMS * w // 2 for w in range(1, 9)), *(SMS * w + 1 for w in range(1, 5))})
    work = cuda.to_device(np.full(most, cycles))
    sm, start, stop = cuda.mem_alloc(4 * most), cuda.mem_alloc(8 * most), cuda.mem_alloc(8 * most)
    times = {}
    for n in counts:

        def check(i: int, n: int = n) -> None:
            begun, ended = np.empty(n, np.uint64), np.empty(n, np.uint64)
            cuda.memcpy_dtoh(begun, start)
            cuda.memcpy_dtoh(ended, stop)
            if not ((begun < ended).all() and (ended != NEVER).all()):
                raise AssertionError(f"{n} blocks: some did not run")

        times[n] = wb.time(
            lambda i, n=n: kernel(work, sm, start, stop, block=(THREADS, 1, 1), grid=(n, 1), shared=ALONE),
            poison=lambda i: cuda.memset_d8_async(stop, 0xFF, 8 * most),
            check=check,
            repeats=30,
        )
    print(f"\n{'blocks':>8}{'µs':>10}")
    for n, t in times.items():
        print(f"{n:>8}{t.median * 1e6:>10.1f}")
    columns = zip(*((n, t.median, t.low, t.high) for n, t in times.items()), strict=True)
    x, y, low, high = map(list, columns)
    wb.series("stairs", x, y, x_unit="count", unit="s", low=low, high=high)
    for name, n in (("full", SMS), ("one_more", SMS + 1), ("two_waves", 2 * SMS)):
        wb.timing(name, times[n])


def schedule() -> None:
    """Blocks of unequal length: is the end where a model puts it?"""
    rng = np.random.default_rng(4)
    clock = np.uint32(100_000)
    alone = run(np.full(SMS, clock), shared=ALONE)
    per_clock = float(np.median(alone.stop - alone.start)) / int(clock)  # seconds
    cycles = rng.integers(40_000, 400_000, 3 * SMS + SMS // 2)
    seconds = cycles * per_clock
    log = run(cycles, shared=ALONE)
    greedy, fixed = one_by_one(seconds, SMS), dealt_out(seconds, SMS)
    for name, value in (("span", log.span()), ("one_by_one", greedy), ("dealt_out", fixed)):
        wb.value(f"schedule.{name}", value, "s")
    print(f"\n{cycles.size} unequal blocks, one an SM: {log.span() * 1e6:.1f} µs")
    print(f"  model, first free place: {greedy * 1e6:.1f} µs; dealt out in turn: {fixed * 1e6:.1f} µs")
    gaps = []
    for sm in np.unique(log.sm):
        mine = np.argsort(log.start[log.sm == sm])
        starts, stops = log.start[log.sm == sm][mine], log.stop[log.sm == sm][mine]
        gaps += list(starts[1:] - stops[:-1])
    wb.value("schedule.gap", float(np.median(gaps)), "s")
    print(f"  from the end of a block to the start of the next on its SM: {np.median(gaps) * 1e6:.2f} µs")
    order = np.lexsort((log.start, log.sm))
    wb.spans("blocks.gantt", [(int(log.sm[i]), float(log.start[i]), float(log.stop[i]), "") for i in order])


if __name__ == "__main__":
    print(f"device: {wb.device()['name']}, {SMS} multiprocessors")
    check_crowds()
    if wb.is_gpu():
        spread()
        staircase()
        schedule()
    else:
        print("no GPU: nothing is timed")
