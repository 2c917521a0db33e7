"""The sum of each row, a warp per row. The inputs are whole numbers, so that the order of the additions is free."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, Sizes

ROWS = 8  # per block: one warp each


def inputs(random, height, width):
    return {"x": random.whole((height, width)), "height": height, "width": width}


def reference(x, height, width):
    return {"sums": x.astype(np.float64).sum(axis=1)}


exercise = Exercise(
    kernel="void row_sums(const float* x, float* sums, int height, int width)",
    sizes=Sizes([(1, 1), (1, 32), (3, 31), (8, 33), (9, 64), (17, 100), (64, 257)]),
    inputs=inputs,
    reference=reference,
    launch=lambda height, width: Launch(grid=-(-height // ROWS), block=32 * ROWS),
    linear="x",
    budget=Budget(at=(64, 512), sectors_per_load=4.0, barriers_per_warp=0, instructions_per_warp=300),
)
