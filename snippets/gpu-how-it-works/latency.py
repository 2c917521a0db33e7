"""The latency ladder: how long one load takes, by how much memory the loads wander over.

python latency.py   follow every link of a random chain and check the way; on a GPU also time it, 16 KiB to 1 GiB
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

STRIDE = 128  # bytes from node to node, as in latency.cu: one line of the caches each
GPU = wb.is_gpu()
KIB, MIB = 2**10, 2**20
SMALL = [16 * KIB, 24 * KIB, 256 * KIB]
LARGE = [
    *(KIB * size for size in (16, 24, 32, 48, 64, 96, 128, 160, 192, 208, 224, 240, 256, 320, 384, 512, 768)),
    *(MIB * size for size in (1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 128, 256, 512, 1024)),
]
NAMED = {64 * KIB: "l1", 4 * MIB: "l2", 40 * MIB: "far", 256 * MIB: "dram", 1024 * MIB: "gib"}
HOPS, REPEATS, WALKERS = 2**15, 5, 128

module = wb.module("gpu-how-it-works/latency.cu")
link, walk, chase, each = (module.get_function(name) for name in ("link", "walk", "chase", "each"))


# --8<-- [start:ring]
class Ring:
    """`nodes` lines of device memory, linked to one ring in random order."""

    def __init__(self, base: cuda.DeviceAllocation, nodes: int, rng: np.random.Generator) -> None:
        self.base, self.nodes = np.uint64(int(base)), nodes
        self.order = rng.permutation(nodes).astype(np.uint32)  # the way round
        follows = np.empty(nodes, np.uint32)
        follows[self.order] = np.roll(self.order, -1)
        cuda.memset_d32(base, 0xFFFFFFFF, nodes * STRIDE // 4)  # an address that faults
        link(self.base, cuda.In(follows), np.uint32(nodes), block=(256, 1, 1), grid=(-(-nodes // 256), 1))

    def after(self, start: int, hops: int) -> np.ndarray:
        """The nodes that `hops` hops visit from place `start` of the way on."""
        return self.order[np.arange(start + 1, start + 1 + hops) % self.nodes]


# --8<-- [end:ring]


def check_way(ring: Ring) -> None:
    """Follow every link once, shared out among walkers, and hold the whole way against the permutation."""
    walkers = min(WALKERS, ring.nodes)
    edges = np.linspace(0, ring.nodes, walkers + 1).astype(np.uint32)
    visited = np.full(ring.nodes, 0xFFFFFFFF, np.uint32)
    told = cuda.to_device(visited)
    places = (cuda.In(ring.order[edges[:-1]]), cuda.In(np.diff(edges)), cuda.In(edges[:-1].copy()))
    walk(ring.base, *places, told, block=(1, 1, 1), grid=(walkers, 1))
    cuda.memcpy_dtoh(visited, told)
    wb.check(visited, ring.after(0, ring.nodes), what=f"way through {ring.nodes} nodes")


class Chaser:
    """Follows a ring on, launch after launch, and knows where it must be."""

    def __init__(self, ring: Ring) -> None:
        self.ring, self.place = ring, 0

    def go(self, warm: int, hops: int) -> tuple[float, float]:
        """Cycles and seconds of one hop; where the launch ends is checked."""
        told = np.full(3, 2**64 - 1, np.uint64)
        start = self.ring.order[self.place]
        self.place = (self.place + warm + hops) % self.ring.nodes
        chase(self.ring.base, start, np.uint32(warm), np.uint32(hops), cuda.InOut(told), block=(1, 1, 1), grid=(1, 1))
        wb.check(int(told[0]), int(self.ring.order[self.place]), what=f"end of {warm} + {hops} hops")
        return float(told[1]) / hops, 1e-9 * float(told[2]) / hops

    def singly(self, warm: int, hops: int) -> np.ndarray:
        """Cycles of each of `hops` hops."""
        visited, cycles = (np.full(hops, 0xFFFFFFFF, np.uint32) for _ in range(2))
        start = self.ring.order[self.place]
        arrays = cuda.InOut(visited), cuda.InOut(cycles)
        each(self.ring.base, start, np.uint32(warm), np.uint32(hops), *arrays, block=(1, 1, 1), grid=(1, 1))
        wb.check(visited, self.ring.after(self.place + warm, hops), what=f"way of {hops} hops timed singly")
        self.place = (self.place + warm + hops) % self.ring.nodes
        return cycles


def said(footprint: int) -> str:
    return f"{footprint / MIB:g} MiB" if footprint >= MIB else f"{footprint / KIB:g} KiB"


def check_all(rng: np.random.Generator) -> None:
    base = cuda.mem_alloc(max(SMALL))
    for nodes in (1, 31, 1000, *(size // STRIDE for size in SMALL)):
        ring = Ring(base, nodes, rng)
        check_way(ring)
        chaser = Chaser(ring)
        for warm, hops in ((0, 1), (7, 100), (nodes, 33)):
            chaser.go(warm, hops)
        chaser.singly(5, 40)
        print(f"{nodes:5} nodes in {said(nodes * STRIDE):>11}: every link followed, the way is the permutation")


def measure(rng: np.random.Generator) -> None:
    base, other = cuda.mem_alloc(max(LARGE)), cuda.mem_alloc(256 * MIB)
    cycles, seconds = [], []
    print(f"\n{'footprint':>10}{'cycles':>9}{'least':>8}{'most':>8}{'ns':>8}")
    for footprint in LARGE:
        ring = Ring(base, footprint // STRIDE, rng)
        check_way(ring)
        chaser = Chaser(ring)
        if footprint <= 64 * MIB:
            chaser.go(0, ring.nodes)  # once round: the caches hold what they can
        else:
            cuda.memset_d32(other, 0, 64 * MIB)  # the caches hold something else, and no node is met twice
        rounds = [chaser.go(min(ring.nodes, 8192), HOPS) for _ in range(REPEATS)]
        for column, numbers in ((cycles, [r[0] for r in rounds]), (seconds, [r[1] for r in rounds])):
            column.append((float(np.median(numbers)), min(numbers), max(numbers)))
        (mid, least, most), (time, *spread) = cycles[-1], seconds[-1]
        print(f"{said(footprint):>10}{mid:9.1f}{least:8.1f}{most:8.1f}{1e9 * time:8.1f}")
        if name := NAMED.get(footprint):
            wb.value(f"{name}.cycles", mid, "1", (least, most))
            wb.value(f"{name}.time", time, "s", (spread[0], spread[1]))
        if name in ("l2", "far"):  # pooled over several launches, and sorted
            hops = np.sort(np.concatenate([chaser.singly(min(ring.nodes, 8192), 1024) for _ in range(8)]))
            share = np.linspace(1, 99, 99)
            wb.series(f"{name}.each", share, np.percentile(hops, share), x_unit="%", unit="1")
            wb.value(f"{name}_each.mean", float(hops.mean()), "1")
            for percent in (1, 25, 75, 95):
                wb.value(f"{name}_each.p{percent}", float(np.percentile(hops, percent)), "1")
    for name, rows in (("latency.cycles", cycles), ("latency.time", seconds)):
        mid, least, most = zip(*rows, strict=True)
        wb.series(name, LARGE, mid, low=least, high=most, x_unit="B", unit="1" if name == "latency.cycles" else "s")


if __name__ == "__main__":
    generator = np.random.default_rng(20261123)
    check_all(generator)
    if GPU:
        measure(generator)
    else:
        print("no GPU: nothing is timed")
