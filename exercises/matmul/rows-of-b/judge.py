"""A product with the rows of b, as attention needs it. The inputs are whole numbers, so that every sum is exact."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, Sizes


def inputs(random, m, n, k):
    return {"a": random.whole((m, k), 30), "b": random.whole((n, k), 3000), "m": m, "n": n, "k": k}


def reference(a, b, m, n, k):
    return {"c": a.astype(np.float64) @ b.astype(np.float64).T}


exercise = Exercise(
    kernel="void product(const float* a, const float* b, float* c, int m, int n, int k)",
    sizes=Sizes([(1, 1, 1), (32, 32, 32), (31, 33, 40), (9, 64, 5), (40, 20, 65)]),
    inputs=inputs,
    reference=reference,
    launch=lambda m, n, k: Launch(grid=(-(-n // 32), -(-m // 32)), block=(32, 8)),
    linear="b",
    budget=Budget(at=(64, 64, 64), sectors_per_load=4.0, sectors_per_store=4.0, bank_conflicts=0),
)
