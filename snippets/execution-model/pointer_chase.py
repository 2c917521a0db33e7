"""Latency hiding: walks with 4 to 64 warps resident on each SM, and two paths in one warp.

python pointer_chase.py             check; on a GPU also time walks through 1 GiB
python pointer_chase.py --profile   all lanes of 4 and of 64 warps, once each
"""

import sys
from functools import partial

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from occupancy_model import Limits, fits, limits

BLOCK = 128  # four warps
NODE = 128  # bytes from one node to the next
WARPS = (4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64)
REGISTERS = 32  # at most, of chase: never the limit

module = wb.module("execution-model/chase.cu")
chase, parted = module.get_function("chase"), module.get_function("parted")
SMS = cuda.Context.get_device().multiprocessor_count
has = limits()
MOST_SHARED = cuda.Context.get_device().get_attribute(cuda.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
chase.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, MOST_SHARED)


# --8<-- [start:shared]
def shared_for(has: Limits, blocks: int) -> int:
    """So much shared memory for each block that an SM holds just `blocks` of them."""
    share = has.shared // blocks // has.shared_unit * has.shared_unit - has.reserved
    share = min(share, MOST_SHARED)
    assert min(fits(has, BLOCK, REGISTERS, share).values()) == blocks
    return share


# --8<-- [end:shared]


class Walks:
    """One cycle through `count` nodes in random order, and walks along it that never meet."""

    def __init__(self, count: int, warps: int) -> None:
        self.count, self.warps = count, warps
        self.order = np.random.default_rng(count).permutation(count).astype(np.uint32)
        following = np.empty_like(self.order)
        following[self.order] = np.roll(self.order, -1)
        self.nodes = cuda.mem_alloc(NODE * count)
        cuda.memset_d32(self.nodes, 0xFFFFFFFF, NODE // 4 * count)
        grid = (-(-count // 256), 1)
        module.get_function("lay_out")(cuda.In(following), self.nodes, np.uint32(count), block=(256, 1, 1), grid=grid)
        self.last = cuda.mem_alloc(4 * 32 * warps)

    def plan(self, walkers: int, steps: int, turns: int = 3, lanes: int = 1, skip: int = 0) -> None:
        """The starts for `turns` launches of warps with `lanes` lanes that walk.

        Walks of one launch, and of launches in turn, have no node in common; nor have plans with other `skip`s.
        """
        apart = self.count // walkers
        assert apart >= skip + steps * turns, f"{walkers} walks of {steps} steps, {turns} times over, meet"
        self.walkers, self.steps, self.turns, self.lanes = walkers, steps, turns, lanes
        self.places = [np.arange(walkers) * apart + skip + turn * steps for turn in range(turns)]
        self.first = [cuda.to_device(self.order[places]) for places in self.places]

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.last, 0xFFFFFFFF, self.walkers)

    def launch(self, shared: int, i: int = 0, kernel: cuda.Function = chase) -> None:
        counts = np.int32(self.lanes), np.int32(self.steps)
        grid = (self.walkers // self.lanes * 32 // BLOCK, 1)
        kernel(
            self.nodes, self.first[i % self.turns], self.last, *counts, block=(BLOCK, 1, 1), grid=grid, shared=shared
        )

    def check(self, i: int = 0) -> None:
        got = np.empty(self.walkers, np.uint32)
        cuda.memcpy_dtoh(got, self.last)
        want = self.order[(self.places[i % self.turns] + self.steps) % self.count]
        wb.check(got, want, what=f"{self.walkers} walks of {self.steps} steps")


def launch_parted(walks: Walks, sides: int, i: int = 0) -> None:
    """One warp; as many of its lanes walk as there are walks."""
    counts = np.int32(walks.walkers), np.int32(sides), np.int32(walks.steps)
    parted(walks.nodes, walks.first[i % walks.turns], walks.last, *counts, block=(32, 1, 1))


def check_all() -> None:
    for count, warps, lanes, steps in ((4096, 4, 1, 31), (4096, 16, 32, 1), (5000, 8, 7, 23), (1009, 4, 1, 1)):
        walks = Walks(count, warps)
        walks.plan(warps * lanes, steps, turns=2, lanes=lanes)
        for i in range(2):
            walks.poison()
            walks.launch(shared_for(has, 1 + i), i)
            walks.check(i)
        print(f"{warps} warps of {lanes} walking lanes, {steps} steps through {count} nodes: every walk ends right")
    for lanes, sides in ((1, 1), (2, 1), (2, 2)):
        walks.plan(lanes, 31, turns=1)
        walks.poison()
        launch_parted(walks, sides)
        walks.check()
    print("one lane, two lanes on one path and on two: all end right")


def time_all(count: int) -> None:
    walks = Walks(count, 64 * SMS)
    for lanes, name in ((1, "one_lane"), (32, "all_lanes")):
        each = []  # warps per SM, steps, loads, time
        for warps in WARPS:  # just as many as are resident: one round of blocks
            walkers = warps * SMS * lanes
            steps = min(256, count // walkers)
            walks.plan(walkers, steps, turns=min(32, count // walkers // steps), lanes=lanes)
            launch = partial(walks.launch, shared_for(has, warps // 4))
            t = wb.time(launch, poison=walks.poison, check=walks.check, repeats=30)
            each.append((warps, steps, walkers * steps, t))
        rates = [loads / t.median for *_, loads, t in each]
        spread = {"low": [loads / t.high for *_, loads, t in each], "high": [loads / t.low for *_, loads, t in each]}
        wb.series(f"{name}.loads", list(WARPS), rates, x_unit="count", unit="1/s", **spread)
        print(f"\n{name.replace('_', ' ')}\n{'warps/SM':>10}{'µs':>10}{'G/s':>8}{'ns':>8}")
        for warps, steps, loads, t in each:
            if warps in (4, 8, 16, 32, 64):
                wb.timing(f"{name}_{warps}", t, 32 * loads)
                wb.value(f"{name}_{warps}.latency", t.median / steps, "s")
            print(f"{warps:>10}{t.median * 1e6:>10.1f}{loads / t.median / 1e9:>8.2f}{t.median / steps * 1e9:>8.0f}")
    print()
    scratch = cuda.mem_alloc(2**28)
    for i, (lanes, sides, name) in enumerate(((1, 1, "alone"), (2, 1, "one_path"), (2, 2, "two_paths"))):
        walks.plan(lanes, 2000, turns=32, skip=i * 32 * 2000)  # more than are launched: no node is met twice
        cuda.memset_d32(scratch, 0, 2**26)  # and nothing of the walks is left in the L2
        t = wb.time(partial(launch_parted, walks, sides), poison=walks.poison, check=walks.check, repeats=20)
        wb.timing(name, t)
        wb.value(f"{name}.step", t.median / walks.steps, "s", (t.low / walks.steps, t.high / walks.steps))
        print(f"lanes of one warp that walk: {lanes}, paths: {sides}; {t.median / walks.steps * 1e9:.0f} ns a step")


def profile(count: int) -> None:
    """The kernel gets a name for each number of warps, so that a profiler can tell the launches apart."""
    walks = Walks(count, 64 * SMS if wb.is_gpu() else 64)
    lanes = 32 if wb.is_gpu() else 4
    walks.plan(walks.warps * lanes, 10, lanes=lanes)
    for blocks in (1, 4, 16):
        name = f"chase_{4 * blocks}"
        kernel = wb.module("execution-model/chase.cu", chase=name).get_function(name)
        kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, MOST_SHARED)
        walks.poison()
        walks.launch(shared_for(has, blocks), kernel=kernel)
        walks.check()
        print(f"{name}: every walk ends right")


if __name__ == "__main__":
    if "--profile" in sys.argv[1:]:
        profile(2**23 if wb.is_gpu() else 2**13)
    else:
        print(f"device: {wb.device()['name']}, {SMS} multiprocessors")
        check_all()
        if wb.is_gpu():
            time_all(2**23)
        else:
            print("no GPU: nothing is timed")
