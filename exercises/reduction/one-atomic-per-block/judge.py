"""The sum of a whole array in one launch: a grid of fixed size, 64-bit sums, one atomic addition per block."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, sizes

BLOCK, GRID = 256, 4


def inputs(random, n):
    data = random.integers(n, 0, 2**32 - 1, "uint32")
    return {"data": data, "total": random.integers(1, 1, 2**40, "uint64"), "n": n}


def reference(data, total, n):
    return {"total": total + data.sum(dtype=np.uint64)}


exercise = Exercise(
    kernel="void add_up(const unsigned* data, unsigned long long* total, int n)",
    sizes=sizes(GRID * BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=GRID, block=BLOCK),
    linear="data",
    budget=Budget(at=1 << 14, bytes_loaded=4 << 14, atomics=GRID, bank_conflicts=0, instructions_per_warp=260),
)
