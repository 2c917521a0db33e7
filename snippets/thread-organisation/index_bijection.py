"""Nine ways to number threads, one formula: grids and blocks of one, two and three dimensions.

python index_bijection.py   every number must be taken once, by the thread that ought to have it
"""

import itertools

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

WORDS = 7  # as in index.cu
GRIDS = [(7,), (5, 3), (3, 2, 4)]
BLOCKS = [(50,), (9, 5), (5, 3, 4)]  # no multiple of 32 among them

sign = wb.module("thread-organisation/index.cu").get_function("sign")


def places(extent: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """All (x, y, z) inside `extent`, x running fastest: the order that the formula ought to give."""
    x, y, z = (*extent, 1, 1)[:3]
    return [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]


def check(grid: tuple[int, ...], block: tuple[int, ...]) -> int:
    """Launch once, hold every thread's signature against its place in the order; return the number of threads."""
    want = np.array(
        [(*b, *t, lane % 32) for b, (lane, t) in itertools.product(places(grid), enumerate(places(block)))], np.int32
    )
    visits = cuda.to_device(np.zeros(len(want), np.int32))
    signatures = cuda.to_device(np.full((len(want), WORDS), -1, np.int32))
    sign(visits, signatures, block=(*block, 1, 1)[:3], grid=(*grid, 1, 1)[:3])
    wb.check(cuda.from_device(visits, len(want), np.int32), np.ones(len(want), np.int32), what="visits")
    wb.check(cuda.from_device(signatures, want.shape, np.int32), want, what="signatures")
    return len(want)


def text(extent: tuple[int, ...]) -> str:
    return " × ".join(map(str, extent))


if __name__ == "__main__":
    print(f"{'grid':12}{'block':12}{'threads':>8}")
    for grid, block in itertools.product([*GRIDS, (1,)], [*BLOCKS, (1,), (31,), (1024,)]):
        n = check(grid, block)
        if grid in GRIDS and block in BLOCKS:
            print(f"{text(grid):12}{text(block):12}{n:8}  every number once, lane = thread in block % 32")
