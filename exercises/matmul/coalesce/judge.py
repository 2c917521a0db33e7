"""A product with one thread per element. The inputs are whole numbers, so that every sum is exact."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, Sizes


def inputs(random, m, n, k):
    return {"a": random.whole((m, k), 30), "b": random.whole((k, n), 3000), "m": m, "n": n, "k": k}


def reference(a, b, m, n, k):
    return {"c": a.astype(np.float64) @ b.astype(np.float64)}


exercise = Exercise(
    kernel="void product(const float* a, const float* b, float* c, int m, int n, int k)",
    sizes=Sizes([(1, 1, 1), (8, 32, 5), (5, 33, 7), (17, 31, 16), (20, 70, 41)]),
    inputs=inputs,
    reference=reference,
    launch=lambda m, n, k: Launch(grid=(-(-n // 32), -(-m // 8)), block=(32, 8)),
    linear="b",
    budget=Budget(at=(32, 64, 32), sectors_per_load=2.5, sectors_per_store=4.0),
)
