"""One partial sum per block. The inputs are whole numbers, so that the order of the additions does not matter."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, sizes

BLOCK = 256


def inputs(random, n):
    return {"data": random.whole(n), "n": n}


def reference(data, n):
    padded = np.zeros(-(-n // BLOCK) * BLOCK)
    padded[:n] = data
    return {"out": padded.reshape(-1, BLOCK).sum(axis=1)}


exercise = Exercise(
    kernel="void block_sum(const float* data, float* out, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    linear="data",
    budget=Budget(at=1 << 13, sectors_per_load=4.0, bank_conflicts=0, barriers_per_warp=1, instructions_per_warp=60),
)
