"""A queue of stages between a producer and 128 consumers. Whole numbers, so that every sum is exact."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, Sizes


def inputs(random, blocks, rows):
    return {"x": random.whole((blocks, rows, 128), 100_000), "rows": rows}


def reference(x, rows):
    return {"y": x.astype(np.float64).sum(axis=1)}


exercise = Exercise(
    kernel="void sums(const float* x, float* y, int rows)",
    sizes=Sizes([(1, 1), (1, 4), (2, 5), (3, 8), (1, 9), (2, 37)]),
    inputs=inputs,
    reference=reference,
    launch=lambda blocks, rows: Launch(grid=blocks, block=160),
    budget=Budget(at=(4, 64), bytes_loaded=0, barriers_per_warp=1),
)
