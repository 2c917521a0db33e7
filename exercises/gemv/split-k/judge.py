"""y += W x with K divided among blocks. The inputs are whole numbers, so that every sum is exact in any order."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, Sizes


def inputs(random, n, k, splits):
    return {"w": random.whole((n, k), 3000), "x": random.whole(k, 9), "y": random.whole(n, 9999), "n": n, "k": k}


def reference(w, x, y, n, k):
    return {"y": y.astype(np.float64) + w.astype(np.float64) @ x.astype(np.float64)}


exercise = Exercise(
    kernel="void gemv(const float* w, const float* x, float* y, int n, int k)",
    sizes=Sizes([(1, 1, 1), (8, 64, 2), (9, 100, 3), (3, 3, 5), (17, 97, 4), (24, 256, 6)]),
    inputs=inputs,
    reference=reference,
    launch=lambda n, k, splits: Launch(grid=(-(-n // 8), splits), block=256),
    linear="w",
    budget=Budget(at=(64, 512, 4), sectors_per_load=4.0, bytes_loaded=2 * 64 * 512 * 4, atomics=64 * 4),
)
