"""The rungs of scan.cu and ring.cu: how each is launched, and what its result is compared with."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pycuda.driver as cuda
import warpbench as wb

BLOCK = 256  # threads, as in scan.cu
WIDE = 16 * BLOCK  # numbers per tile from v4 on
FEW = 128  # threads of v8, the best of those tried: each parks 80 numbers
PER_SM = 6  # blocks of v9: what the shared memory of an SM holds
SQUAD, SHARE, STAGES = 8, 8, 6  # of v10, as in ring.cu
RING = 128 * SHARE * SQUAD  # numbers per tile of v10


# --8<-- [start:rungs]
@dataclass(frozen=True)
class Rung:
    name: str
    tile: int  # numbers per block
    way: str  # "add": scan the tiles, then add; "sum": sum the tiles, then scan; "once": in one pass
    threads: int = BLOCK
    stay: int = 0  # blocks per SM, each of which takes tile after tile; 0: a block per tile
    shared: int = 0  # bytes of dynamic shared memory


RUNGS = [
    Rung("v0", BLOCK, "add"),
    Rung("v1", 2 * BLOCK, "add"),
    Rung("v2", 2 * BLOCK, "add"),
    Rung("v3", BLOCK, "add"),
    Rung("v4", WIDE, "add"),
    Rung("v5", WIDE, "sum"),
    Rung("v6", WIDE, "once"),
    Rung("v7", WIDE, "once"),
    Rung("v8", 80 * FEW, "once", threads=FEW),
    Rung("v9", WIDE, "once", stay=PER_SM),
    Rung("v10", RING, "once", threads=32 * (2 + 2 * SQUAD), stay=1, shared=STAGES * (4 * RING + 48 + 8 * SQUAD)),
]
V4, BEST, EXCLUSIVE = RUNGS[4], RUNGS[10], Rung("exclusive", WIDE, "once")
DEALT = replace(BEST, name="dealt")  # the same without tickets
# --8<-- [end:rungs]


class Scanner:
    """The kernels for one element type, the memory they need beside input and output, and how to launch them."""

    def __init__(self, dtype: type, most: int) -> None:
        self.dtype = np.dtype(dtype)
        element = {"float32": "float", "int32": "int"}[self.dtype.name]
        self.kernel = wb.module("scan/scan.cu", append=wb.source("scan/ring.cu"), ELEMENT=element).get_function
        for rung in (BEST, DEALT):
            kernel = self.kernel(f"scan_{rung.name}")
            kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, rung.shared)
        self.parked = wb.module("scan/scan.cu", ELEMENT=element, THREADS=FEW, PARKED=20).get_function("scan_v8")
        self.sms = cuda.Context.get_device().multiprocessor_count if wb.is_gpu() else 2  # few: more tiles for a block
        tiles = -(-most // BLOCK)
        self.sums = [cuda.mem_alloc(4 * tiles)]  # of the tiles, of the tiles of these sums, and so on
        while tiles > 1:
            tiles = -(-tiles // BLOCK)
            self.sums.append(cuda.mem_alloc(4 * tiles))
        self.words = cuda.mem_alloc(8 * (1 + -(-most // WIDE)))  # the next ticket, and what is known of each tile

    # --8<-- [start:launch]
    def launch(self, rung: Rung, data: cuda.DeviceAllocation, out: cuda.DeviceAllocation, n: int) -> None:
        """Enqueue a whole scan."""
        if rung.way == "once":
            self.launch_once(rung, data, out, n)
        else:
            self.launch_level(rung, data, out, n, self.sums)

    def launch_once(self, rung: Rung, data: cuda.DeviceAllocation, out: cuda.DeviceAllocation, n: int) -> None:
        tiles = -(-n // rung.tile)
        cuda.memset_d32_async(self.words, 0, 2 * (1 + tiles))
        kernel = self.parked if rung.threads == FEW else self.kernel(f"scan_{rung.name}")
        first = np.uint64(int(self.words) + 8)
        blocks = min(tiles, rung.stay * self.sms) if rung.stay else tiles
        shape = {"block": (rung.threads, 1, 1), "grid": (blocks, 1), "shared": rung.shared}
        kernel(data, out, first, self.words, np.int64(n), **shape)

    def launch_level(
        self, rung: Rung, data: cuda.DeviceAllocation, out: cuda.DeviceAllocation, n: int, levels: Sequence
    ) -> None:
        """Scan n numbers, and in the same way the sums of their tiles, as many levels as that takes."""
        tiles, size, (sums, *rest) = -(-n // rung.tile), np.int64(n), levels
        shape = {"block": (BLOCK, 1, 1), "grid": (tiles, 1)}
        if rung.way == "sum":
            if tiles > 1:
                self.kernel("sum_tiles")(data, sums, size, **shape)
                self.launch_level(V4, sums, sums, tiles, rest)  # they are few: v4 will do
            self.kernel(f"scan_{rung.name}")(data, out, sums, size, **shape)
            return
        self.kernel(f"scan_{rung.name}")(data, out, sums, size, **shape)
        if tiles > 1:
            self.launch_level(rung, sums, sums, tiles, rest)
            if rung.tile == WIDE:
                self.kernel("add_wide")(out, sums, size, **shape)
            else:
                self.kernel("add_tiles")(out, sums, size, np.int32(rung.tile), **shape)

    # --8<-- [end:launch]


def depth(rung: Rung, n: int) -> int:
    """No number passes through more additions of other numbers than this."""
    tiles = -(-n // rung.tile)
    if rung.way == "once":
        return 40 + tiles  # within the tile; then, if each block finds its neighbour's prefix, one per tile
    return 40 + depth(rung, tiles) if tiles > 1 else 40


# --8<-- [start:problem]
class Problem:
    """Random numbers on the device, and what their prefix sums must be."""

    def __init__(self, rng: np.random.Generator, dtype: type, n: int) -> None:
        self.n = n
        if dtype is np.int32:
            self.values = rng.integers(-(2**31), 2**31, n, np.int32)  # sums wrap around, in the reference as well
            self.want, self.error = np.cumsum(self.values, dtype=np.int32), None
        else:
            self.values = 2 * rng.random(n, dtype=np.float32) - 1
            wide = self.values.astype(np.float64)
            self.want, self.error = np.cumsum(wide), 2.0**-24 * np.cumsum(np.abs(wide))  # per rounding
        self.data, self.out = cuda.to_device(self.values), cuda.mem_alloc(4 * n)
        self.result = np.empty(n, dtype)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, self.n)

    def check(self, rung: Rung) -> float:
        """The worst error as a share of its bound. Integers must be exact."""
        cuda.memcpy_dtoh(self.result, self.out)
        want, bound = self.want, 0.0 if self.error is None else 1.01 * depth(rung, self.n) * self.error
        if rung is EXCLUSIVE:  # one place to the right; the first sum is empty
            want = np.concatenate([want[:1] * 0, want[:-1]])
            bound = bound if self.error is None else np.concatenate([bound[:1] * 0, bound[:-1]])
        return wb.check(self.result, want, bound, f"scan_{rung.name} of {self.n} numbers")


# --8<-- [end:problem]


def check(scanner: Scanner, problem: Problem, rungs: Sequence[Rung]) -> float:
    """Every rung on one problem; the worst error as a share of its bound."""
    worst = 0.0
    for rung in rungs:
        problem.poison()
        scanner.launch(rung, problem.data, problem.out, problem.n)
        worst = max(worst, problem.check(rung))
    return worst
