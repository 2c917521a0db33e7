"""Clusters: blocks that read each other's shared memory, and a launch that is refused.

python clusters.py   needs compute capability 9.0 (Hopper) or newer
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

wb.needs("9.0")
BLOCK, CLUSTER = 128, 4  # as in cluster.cu
ring = wb.module("programming-model/cluster.cu").get_function("ring")

for clusters in (1, 31, 250):
    blocks = clusters * CLUSTER
    values = np.random.default_rng().integers(1, 2**31, (clusters, CLUSTER, BLOCK), dtype=np.int32)
    out, rank = np.full(values.shape, -1, np.int32), np.full((clusters, CLUSTER), -1, np.int32)
    ring(cuda.In(values), cuda.InOut(out), cuda.InOut(rank), block=(BLOCK, 1, 1), grid=(blocks, 1))
    wb.check(out, np.roll(values, -1, axis=1), what=f"ring of {clusters} clusters")
    wb.check(rank, np.tile(np.arange(CLUSTER), (clusters, 1)), what="ranks")
    print(f"{blocks:5} blocks in {clusters:3} clusters: each has its neighbour's tile")

try:
    out = cuda.mem_alloc(4 * 6 * BLOCK)
    ring(out, out, out, block=(BLOCK, 1, 1), grid=(6, 1))
except cuda.LogicError as error:
    print(f"    6 blocks are no whole number of clusters: {error}")
else:
    raise AssertionError("a grid of 6 blocks in clusters of 4 was not refused")
