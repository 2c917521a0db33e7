"""The last warp in shared memory: the volatile tail of the old decks beside the one with __syncwarp.

python tail.py   check the right one; say what the wrong one happened to give
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK, TILES = 64, 1000
module = wb.module("reduction/warp_tail.cu")
values = np.random.default_rng(2017).integers(-1000, 1000, (TILES, BLOCK), dtype=np.int32)
reference = values.sum(axis=1, dtype=np.int64)


def wrong_tiles(kernel: str) -> int:
    """How many of the tiles come out wrong."""
    out = np.full(TILES, -(2**31), np.int32)
    module.get_function(kernel)(cuda.In(values), cuda.InOut(out), block=(BLOCK, 1, 1), grid=(TILES, 1))
    return int(np.sum(out != reference))


right = wrong_tiles("tail_syncwarp")
if right:
    raise AssertionError(f"tail_syncwarp: {right} of {TILES} tiles are wrong")
print(f"__syncwarp: {TILES} of {TILES} tiles right")
lucky = wrong_tiles("tail_volatile")
print(f"volatile:   {TILES - lucky} of {TILES} tiles right this time; nothing in CUDA promises one")
