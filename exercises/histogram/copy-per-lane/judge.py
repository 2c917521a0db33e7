"""A histogram of 64 bins in which no two lanes of a warp meet in a bank: a copy of the bins for each lane."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, sizes

BINS, BLOCK, GRID = 64, 256, 2


def inputs(random, n):
    return {
        "data": random.integers(n, 0, BINS - 1, "uint8"),
        "counts": random.integers(BINS, 1, 1000, "uint32"),
        "n": n,
    }


def reference(data, counts, n):
    return {"counts": counts + np.bincount(data, minlength=BINS)}


exercise = Exercise(
    kernel="void histogram(const unsigned char* data, unsigned* counts, int n)",
    sizes=sizes(GRID * BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=GRID, block=BLOCK),
    budget=Budget(at=1 << 14, bytes_loaded=1 << 14, atomics=2 * BINS * GRID / 32, bank_conflicts=0),
)
