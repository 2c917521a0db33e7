"""What a launch costs the host, by the way it is written in PyCUDA, and how long a kernel must be to hide it.

python launch_overhead.py   check; on a GPU also time
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from steps import BLOCK, A, C, Steps

GPU = wb.is_gpu()
BATCH = 200  # launches in a row; the driver queues about a thousand
work = Steps()
numbers = np.uint32(A), np.uint32(C), np.int32(1), np.int32(work.n)
shape = {"block": (BLOCK, 1, 1), "grid": (work.grid, 1)}
prepared = wb.module("programming-model/steps.cu").get_function("steps")
prepared.prepare("PPIIii")
x, out = work.x, np.empty_like(work.x)


# --8<-- [start:ways]
def plain() -> None:
    """Arguments are looked at, one by one, at every call."""
    work.kernel(work.source, work.out, *numbers, **shape)


def prepared_once() -> None:
    """Their types were said before: prepare("PPIIii")."""
    prepared.prepared_call((work.grid, 1), (BLOCK, 1, 1), work.source, work.out, A, C, 1, work.n)


def arrays() -> None:
    """Arrays of the host: allocate, copy there, launch, copy back, free; and wait."""
    work.kernel(cuda.In(x), cuda.Out(out), *numbers, **shape)


# --8<-- [end:ways]


def batch(action: Callable[[], object], count: int, wait: bool = False) -> float:
    """Seconds for each of `count` calls, the last kernel included."""
    cuda.Context.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        action()
        if wait:
            cuda.Context.synchronize()
    cuda.Context.synchronize()
    return (time.perf_counter() - start) / count


def spread(action: Callable[[], float], repeats: int = 30) -> wb.Timing:
    action()
    low, median, high = (float(s) for s in np.percentile([action() for _ in range(repeats)], [10, 50, 90]))
    return wb.Timing(median, low, high, repeats)


def check_ways() -> None:
    for way in (plain, prepared_once):
        work.poison()
        way()
        work.check(1)
    out[:] = 0xFFFFFFFF
    arrays()
    work.poison()
    cuda.memcpy_htod(work.out, out)
    work.check(1)
    print("plain, prepared and with arrays of the host: exact")


def time_ways() -> None:
    print(f"\n{BATCH} launches in a row, each:")
    for name, action, wait in (
        ("plain", plain, False),
        ("prepared", prepared_once, False),
        ("waited", plain, True),
        ("arrays", arrays, False),
    ):
        t = spread(partial(batch, action, BATCH, wait))
        wb.timing(name, t)
        print(f"  {name:10}{t.median * 1e6:8.2f} µs")
    t = work.timed(1, 50)
    wb.timing("kernel", t)
    print(f"  {'on device':10}{t.median * 1e6:8.2f} µs")


def sweep() -> None:
    """Longer and longer kernels: what one launch of many takes, in a queue and waited for."""
    lengths, queued, waited = [], [], []
    for rounds in (1, *(2**k for k in range(8, 18))):
        t = work.timed(rounds, 30)
        lengths.append(t.median)
        for wait, times in ((False, queued), (True, waited)):
            times.append(spread(partial(batch, partial(work.launch, rounds), BATCH, wait), 7))
        print(
            f"  kernel {t.median * 1e6:8.1f} µs: queued {queued[-1].median * 1e6:8.1f} µs,"
            f" waited for {waited[-1].median * 1e6:8.1f} µs"
        )
    for name, times in (("queued", queued), ("waited", waited)):
        medians, lows, highs = ([getattr(t, part) for t in times] for part in ("median", "low", "high"))
        wb.series(f"per_launch.{name}", lengths, medians, x_unit="s", unit="s", low=lows, high=highs)
    wb.value("longest.kernel", lengths[-1], "s")
    wb.value("longest.queued", queued[-1].median, "s")
    wb.value("longest.waited", waited[-1].median, "s")


if __name__ == "__main__":
    for rounds in (0, 1, 31, 1000):
        work.run(rounds)
    check_ways()
    if GPU:
        time_ways()
        sweep()
    else:
        print("no GPU: nothing is timed")
