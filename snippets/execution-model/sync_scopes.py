"""Who can wait for whom: numbers go round a ring in a block, in a cluster, in the whole grid.

python sync_scopes.py   check every ring; on a GPU also time the three barriers, and launches in place of a barrier
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _driver import Module

BLOCK, CLUSTER = 256, 8  # as in sync.cu
GPU = wb.is_gpu()
wb.needs("9.0")  # clusters; blocks and grids wait on older devices too

module = wb.module("execution-model/sync.cu")
by_hand = Module("execution-model/sync.cu")
SMS = cuda.Context.get_device().multiprocessor_count
rng = np.random.default_rng()


def fresh(n: int) -> np.ndarray:
    return rng.integers(0, 2**31, n, dtype=np.int32)


# --8<-- [start:rings]
def ring(kernel: str, blocks: int, ring_length: int, steps: int) -> None:
    """Rings of `ring_length` numbers, each moved by `steps` places."""
    a = fresh(blocks * BLOCK)
    out = np.full_like(a, -1)
    run = module.get_function(kernel)
    run(cuda.In(a), cuda.InOut(out), np.int32(steps), block=(BLOCK, 1, 1), grid=(blocks, 1))
    wb.check(out, np.roll(a.reshape(-1, ring_length), -steps, axis=1).ravel(), what=f"{kernel}, {steps} steps")


def ring_of_all(blocks: int, steps: int) -> None:
    """One ring through the whole grid; the launch is cooperative."""
    a = fresh(blocks * BLOCK)
    data = cuda.to_device(a)
    by_hand.get_function("ring_grid").launch_together(data, np.int32(steps), grid=blocks, block=BLOCK)
    wb.check(cuda.from_device(data, a.shape, a.dtype), np.roll(a, -steps), what=f"ring_grid, {steps} steps")


def ring_of_launches(blocks: int, steps: int) -> None:
    """The same without a cooperative launch: each step is a launch, and the next one is the barrier."""
    a = fresh(blocks * BLOCK)
    data = [cuda.to_device(a), cuda.to_device(np.full_like(a, -1))]
    for s in range(steps):
        module.get_function("ring_step")(
            data[s % 2], data[1 - s % 2], np.int32(a.size), block=(BLOCK, 1, 1), grid=(blocks, 1)
        )
    wb.check(cuda.from_device(data[steps % 2], a.shape, a.dtype), np.roll(a, -steps), what="ring_step")


# --8<-- [end:rings]


def check_all() -> None:
    blocks = 2 * SMS if GPU else 16
    for steps in (0, 1, 31, 257) if GPU else (0, 1, 31):
        ring("ring_block", blocks, BLOCK, steps)
        ring("ring_cluster", blocks // CLUSTER * CLUSTER, BLOCK * CLUSTER, steps)
        ring_of_all(blocks, steps)
    ring_of_launches(blocks, 7)
    print("rings of a block, a cluster and a grid: every number where it belongs")
    most = by_hand.get_function("ring_grid").blocks_per_sm(BLOCK) * SMS
    data = cuda.mem_alloc(4 * BLOCK * (most + 1))
    try:
        by_hand.get_function("ring_grid").launch_together(data, np.int32(0), grid=most + 1, block=BLOCK)
    except RuntimeError as refusal:
        print(f"a cooperative grid of {most + 1} blocks, one more than fit: {refusal}")
    else:
        raise AssertionError(f"the driver let {most + 1} blocks start together")


def barrier(launch: Callable[..., object], count: int) -> float:
    """Seconds for one of `count` barriers, by the device's clock."""
    nanoseconds, passed = cuda.to_device(np.full(1, 2**62, np.int64)), cuda.to_device(np.zeros(1, np.int32))
    launch(nanoseconds, passed, np.int32(count))
    cuda.Context.synchronize()
    if (turns := cuda.from_device(passed, 1, np.int32)[0]) != -(-count // 64):
        raise AssertionError(f"{turns} turns in {count} barriers, not one in 64")
    return float(cuda.from_device(nanoseconds, 1, np.int64)[0]) * 1e-9 / count


def ways() -> dict[str, Callable[..., object]]:
    shape = {"block": (BLOCK, 1, 1), "grid": (SMS // CLUSTER * CLUSTER, 1)}
    return {
        "block": partial(module.get_function("time_block"), **shape),
        "cluster": partial(module.get_function("time_cluster"), **shape),
        "grid": partial(by_hand.get_function("time_grid").launch_together, grid=SMS, block=BLOCK),
    }


def check_barriers() -> None:
    for launch in ways().values():
        if GPU:
            barrier(launch, 2570)
    shape = {"block": (BLOCK, 1, 1), "grid": (CLUSTER, 1)}
    barrier(partial(module.get_function("time_block"), **shape), 310)
    barrier(partial(module.get_function("time_cluster"), **shape), 310)
    barrier(partial(by_hand.get_function("time_grid").launch_together, grid=3, block=BLOCK), 310)


def time_all() -> None:
    print(f"\n{'barrier of':>12}{'ns':>10}{'10 %':>9}{'90 %':>9}")
    for name, launch in ways().items():
        low, median, high = np.percentile([barrier(launch, 10_000) for _ in range(21)][1:], [10, 50, 90])
        wb.value(f"{name}.time", float(median), "s", (float(low), float(high)))
        print(f"{name:>12}{median * 1e9:>10.1f}{low * 1e9:>9.1f}{high * 1e9:>9.1f}")
    data = [cuda.to_device(fresh(SMS * BLOCK)) for _ in range(2)]
    step, chain, each = module.get_function("ring_step"), 100, []
    spare = cuda.mem_alloc(8), cuda.mem_alloc(4)
    for _ in range(21):
        start, stop = cuda.Event(), cuda.Event()
        module.get_function("time_block")(*spare, np.int32(200_000), block=(BLOCK, 1, 1))  # keeps the device busy
        start.record()
        for s in range(chain):
            step(data[s % 2], data[1 - s % 2], np.int32(SMS * BLOCK), block=(BLOCK, 1, 1), grid=(SMS, 1))
        stop.record()
        stop.synchronize()
        each.append(stop.time_since(start) * 1e-3 / chain)
    low, median, high = np.percentile(each[1:], [10, 50, 90])
    wb.value("launches.time", float(median), "s", (float(low), float(high)))
    print(f"{'a launch':>12}{median * 1e9:>10.1f}{low * 1e9:>9.1f}{high * 1e9:>9.1f}")


if __name__ == "__main__":
    print(f"device: {wb.device()['name']}, {SMS} multiprocessors")
    check_all()
    check_barriers()
    if GPU:
        time_all()
    else:
        print("no GPU: nothing is timed")
