"""A product with eight rows per thread. The inputs are whole numbers, so that every sum is exact."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, Sizes


def inputs(random, m, n, k):
    return {"a": random.whole((m, k), 30), "b": random.whole((k, n), 3000), "m": m, "n": n, "k": k}


def reference(a, b, m, n, k):
    return {"c": a.astype(np.float64) @ b.astype(np.float64)}


AT = (64, 64, 64)

exercise = Exercise(
    kernel="void product(const float* a, const float* b, float* c, int m, int n, int k)",
    sizes=Sizes([(1, 1, 1), (32, 32, 8), (31, 33, 17), (8, 40, 3), (41, 65, 20)]),
    inputs=inputs,
    reference=reference,
    launch=lambda m, n, k: Launch(grid=(-(-n // 32), -(-m // 32)), block=128),
    linear="b",
    budget=Budget(at=AT, bytes_loaded=4 * (2 * 64 * 64 * 64 / 32), bank_conflicts=0, instructions_per_warp=2000),
)
