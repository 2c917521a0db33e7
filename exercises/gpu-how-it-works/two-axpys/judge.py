"""Two AXPYs in one pass: what passes between them stays in a register."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, sizes

BLOCK = 256
AT = 1 << 14


def inputs(random, n):
    arrays = {name: random.floats(n) for name in "xyz"}
    return {**arrays, "a": np.float32(2.5), "b": np.float32(-1.75), "n": n}


def reference(x, y, z, a, b, n):
    x, y, z = (array.astype(np.float64) for array in (x, y, z))
    return {"out": np.float64(a) * x + np.float64(b) * y + z}


def scale(x, y, z, a, b, n):
    x, y, z = (np.abs(array.astype(np.float64)) for array in (x, y, z))
    return {"out": abs(float(a)) * x + abs(float(b)) * y + z}


exercise = Exercise(
    kernel="void add_both(const float* x, const float* y, const float* z, float* out, float a, float b, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    roundings=4,
    scale=scale,
    budget=Budget(at=AT, bytes_loaded=12 * AT, bytes_stored=4 * AT),
)
