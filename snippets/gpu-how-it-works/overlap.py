"""Concurrent and parallel: chains of dependent multiply-adds, and loads between them, by warps and SMs.

python overlap.py             check the ends of all chains; on a GPU also count the cycles
python overlap.py --profile   both chains, 32 warps on every SM, for a profiler
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

GPU = wb.is_gpu()
STEPS = 4096 if GPU else 64
A, C = np.float32(1 - 2**-9), np.float32(0.25)
LEAN = np.float32(-(2**-9))  # a x + x shrinks as fast
WARPS = (1, 2, 4, 8, 12, 16, 20, 24, 28, 32)
SMS = cuda.Context.get_device().multiprocessor_count

module = wb.module("gpu-how-it-works/overlap.cu")
chain, lean, errands = (module.get_function(name) for name in ("chain", "lean", "errands"))


def ends_of(start: np.ndarray, steps: int) -> np.ndarray:
    """What `steps` steps come to, by the formula for a geometric sum."""
    shrink = float(A) ** steps
    return shrink * start.astype(np.float64) + float(C) * (1 - shrink) / (1 - float(A))


def bound(want: np.ndarray, steps: int) -> np.ndarray:
    """Each step rounds once, and what it rounded off shrinks with the rest."""
    return 2.0**-24 * np.maximum(want, 1) * min(steps, 512) * 1.01


def run(warps: int, blocks: int, steps: int, rng: np.random.Generator, kernel: cuda.Function = chain) -> np.ndarray:
    """Cycles that each block took from its first warp's start to its last warp's end."""
    n = 32 * warps * blocks
    start = rng.uniform(0.5, 1, n).astype(np.float32)
    ends = np.full(n, np.nan, np.float32)
    clocks = np.full((blocks, warps, 2), -1, np.int64)
    scalars = (A, C) if kernel is chain else (LEAN,)
    arrays = cuda.In(start), cuda.InOut(ends)
    kernel(*arrays, *scalars, np.int32(steps), cuda.InOut(clocks), block=(32 * warps, 1, 1), grid=(blocks, 1))
    what = f"{warps} warps, {steps} steps"
    if kernel is chain:
        want = ends_of(start, steps)
        wb.check(ends, want, bound(want, steps), what=what)
    else:
        want = start * (1 + float(LEAN)) ** np.float64(steps)
        wb.check(ends, want, 2.0**-24 * steps * 1.01 * want, what=f"lean, {what}")
    if not (clocks[..., 1] >= clocks[..., 0]).all() or (clocks < 0).any():
        raise AssertionError(f"{warps} warps: a clock was not written, or ran backwards")
    return clocks[..., 1].max(axis=1) - clocks[..., 0].min(axis=1)


class Errands:
    """Nodes 128 bytes apart, linked to one ring in random order; warps that walk along it and compute on the way."""

    STEPS = 64

    def __init__(self, nodes: int, rng: np.random.Generator) -> None:
        self.order = rng.permutation(nodes).astype(np.uint32)
        words = np.full((nodes, 32), 0xFFFFFFFF, np.uint32)
        words[self.order, 0] = np.roll(self.order, -1)
        self.next = cuda.to_device(words)

    def run(self, warps: int, rounds: int, place: int) -> np.ndarray:
        """Clocks before, between and after, of each warp in each round. Warp w starts at place + w * rounds."""
        places = (place + rounds * np.arange(warps)) % self.order.size
        visited = np.full((warps, rounds), 0xFFFFFFFF, np.uint32)
        ends = np.full((warps, rounds), np.nan, np.float32)
        clocks = np.full((warps, rounds, 3), -1, np.int64)
        out = cuda.InOut(visited), cuda.InOut(ends), cuda.InOut(clocks)
        starts, steps = cuda.In(self.order[places]), np.int32(self.STEPS)
        errands(self.next, starts, A, C, np.int32(rounds), steps, *out, block=(32 * warps, 1, 1), grid=(1, 1))
        way = self.order[(places[:, None] + 1 + np.arange(rounds)) % self.order.size]
        want = ends_of(way % 1024 / 1024.0, self.STEPS)
        wb.check(visited, way, what=f"way of {warps} warps")
        wb.check(ends, want, bound(want, self.STEPS), what=f"work of {warps} warps")
        if (clocks < 0).any() or (np.diff(clocks, axis=2) < 0).any():
            raise AssertionError(f"{warps} warps: a clock was not written, or ran backwards")
        return clocks


def check_all(rng: np.random.Generator) -> None:
    for warps, blocks, steps in ((1, 1, 1), (1, 3, 31), (5, 2, 64), (32, 1, 33)):
        for kernel in (chain, lean):
            run(warps, blocks, steps, rng, kernel)
        print(f"{blocks} blocks of {warps} warps, {steps} steps: every end within its bound")
    ring = Errands(256, rng)
    for warps, rounds, place in ((1, 1, 0), (8, 5, 31), (32, 3, 250)):
        ring.run(warps, rounds, place)
        print(f"{warps} warps, {rounds} errands each: every way and every end right")


def measure(rng: np.random.Generator) -> None:
    print(f"\n{'warps':>6}{'cycles a step':>15}{'steps a cycle':>15}")
    for name, kernel in (("chain", chain), ("lean", lean)):
        run(32, SMS, STEPS, rng, kernel)
        cycles = []
        for warps in WARPS:
            took = sorted(float(run(warps, 1, STEPS, rng, kernel)[0]) / STEPS for _ in range(9))
            cycles.append((took[4], took[0], took[8]))
            print(f"{warps:6}{took[4]:15.2f}{warps / took[4]:15.2f}   {name}")
            if warps in (1, 8, 16, 32):
                wb.value(f"{name}_{warps}.cycles", took[4], "1", (took[0], took[8]))
        mid, low, high = zip(*cycles, strict=True)
        wb.series(f"{name}.cycles", WARPS, mid, low=low, high=high, x_unit="count", unit="1")
    everywhere = [float(np.median(run(16, SMS, STEPS, rng))) / STEPS for _ in range(9)]
    wb.value("chain_everywhere.cycles", float(np.median(everywhere)), "1", (min(everywhere), max(everywhere)))
    print(f"16 warps on each of {SMS} multiprocessors: {np.median(everywhere):.2f} cycles a step")
    ring, other = Errands(2**21, rng), cuda.mem_alloc(2**27)
    cuda.memset_d32(other, 0, 2**25)  # the caches hold something else
    ring.run(32, 6, 10_000)  # the code is loaded
    took = {warps: [] for warps in (1, 8)}
    for i in range(9):
        for warps in took:
            clocks = ring.run(warps, 6, 20_000 + 1000 * i + 100 * warps)  # no node twice
            took[warps].append(float(clocks.max() - clocks.min()))
    for warps, cycles_of in took.items():
        wb.value(f"errands_{warps}.cycles", float(np.median(cycles_of)), "1", (min(cycles_of), max(cycles_of)))
        print(f"{warps} warps, 6 errands each: {np.median(cycles_of):.0f} cycles")
    told = [
        (warp, *clocks[warp, r, k : k + 2].tolist(), label)
        for warp in range(8)
        for r in range(6)
        for k, label in enumerate(("load", "work"))
    ]
    wb.spans("errands.gantt", told, unit="cycle")


if __name__ == "__main__":
    generator = np.random.default_rng(20261125)
    if "--profile" in sys.argv[1:]:
        for kernel in (chain, lean):
            run(32, SMS if GPU else 2, STEPS, generator, kernel)
            print("32 warps a multiprocessor: every end within its bound")
    else:
        check_all(generator)
        if GPU:
            measure(generator)
        else:
            print("no GPU: nothing is timed")
