"""Scale a vector with eight elements per thread; only the order of the accesses is judged."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, sizes

BLOCK, EACH = 256, 8


def inputs(random, n):
    return {"x": random.floats(n), "a": np.float32(2.5), "n": n}


def reference(x, a, n):
    return {"y": np.float64(a) * x.astype(np.float64)}


exercise = Exercise(
    kernel="void scale(const float* x, float* y, float a, int n)",
    sizes=sizes(BLOCK * EACH),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // (BLOCK * EACH)), block=BLOCK),
    roundings=1,
    budget=Budget(at=1 << 14, sectors_per_load=4.0, sectors_per_store=4.0),
)
