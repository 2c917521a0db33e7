"""A moving sum of 17 elements. The inputs are whole numbers, so that every sum is exact."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, sizes

BLOCK, RADIUS = 256, 8
AT = 1 << 13


def inputs(random, n):
    return {"x": random.whole(n), "n": n}


def reference(x, n):
    padded = np.pad(x.astype(np.float64), RADIUS)
    return {"out": np.lib.stride_tricks.sliding_window_view(padded, 2 * RADIUS + 1).sum(axis=1)}


exercise = Exercise(
    kernel="void moving_sum(const float* x, float* out, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    linear="x",
    budget=Budget(at=AT, bytes_loaded=6 * AT, bytes_stored=4 * AT, bank_conflicts=0),
)
