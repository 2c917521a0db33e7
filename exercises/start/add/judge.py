"""Add two arrays, an element per thread, with a last block that is only partly needed."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, sizes

BLOCK = 256


def inputs(random, n):
    return {"a": random.floats(n), "b": random.floats(n), "n": n}


def reference(a, b, n):
    return {"c": a.astype(np.float64) + b.astype(np.float64)}


exercise = Exercise(
    kernel="void add(const float* a, const float* b, float* c, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    roundings=1,
    budget=Budget(at=1 << 14, sectors_per_load=4.0, sectors_per_store=4.0, instructions_per_warp=32),
)
