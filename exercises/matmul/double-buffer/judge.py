"""A product through two pairs of tiles of 16 x 16. The inputs are whole numbers, so that every sum is exact."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, Sizes


def inputs(random, m, n, k):
    return {"a": random.whole((m, k), 30), "b": random.whole((k, n), 3000), "m": m, "n": n, "k": k}


def reference(a, b, m, n, k):
    return {"c": a.astype(np.float64) @ b.astype(np.float64)}


AT = (64, 64, 64)

exercise = Exercise(
    kernel="void product(const float* a, const float* b, float* c, int m, int n, int k)",
    sizes=Sizes([(1, 1, 1), (16, 16, 16), (15, 17, 33), (16, 32, 7), (33, 20, 57)]),
    inputs=inputs,
    reference=reference,
    launch=lambda m, n, k: Launch(grid=(-(-n // 16), -(-m // 16)), block=(16, 16)),
    linear="b",
    budget=Budget(at=AT, bytes_loaded=4 * (2 * 64 * 64 * 64 / 16), bank_conflicts=0, barriers_per_warp=64 / 16 + 1),
)
