"""The last warp of a tree, unrolled in three ways: count the right sums of the wrong one, and check the others.

python tail.py   then: softcuda check tail.py volatile
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK, TILES = 64, 1000
module = wb.module("unrolling/tail.cu")
values = np.random.default_rng().integers(-1000, 1000, (TILES, BLOCK), dtype=np.int32)
want = values.sum(axis=1, dtype=np.int64)


def tiles(kernel: str) -> np.ndarray:
    out = np.full(TILES, -(2**31), np.int32)
    module.get_function(kernel)(cuda.In(values), cuda.InOut(out), block=(BLOCK, 1, 1), grid=(TILES, 1))
    return out


for name in sys.argv[1:] or ("syncwarp", "shuffle", "volatile"):
    got = tiles(f"tail_{name}")
    if name == "volatile":
        print(f"tail_volatile: {int(np.sum(got == want))} of {TILES} tiles right this time")
    else:
        wb.check(got, want, what=f"tail_{name}")
        print(f"tail_{name}: {TILES} of {TILES} tiles right")
