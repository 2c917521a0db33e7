"""A weighted sum of the eight fields of each record. The inputs are whole numbers, so that every sum is exact."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, sizes

BLOCK, FIELDS = 256, 8
AT = 1 << 12


def inputs(random, n):
    return {"records": random.whole((n, FIELDS)), "w": random.whole(FIELDS, 16), "n": n}


def reference(records, w, n):
    return {"out": records.astype(np.float64) @ w.astype(np.float64)}


exercise = Exercise(
    kernel="void weigh(const float* records, const float* w, float* out, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    linear="records",
    budget=Budget(at=AT, bytes_loaded=48 * AT, bytes_stored=8 * AT, bank_conflicts=AT * FIELDS // 32),
)
