"""AXPY with loads of 16 bytes: the same bytes, a quarter of the requests, and what is left at the end."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, sizes

BLOCK = 256
AT = 1 << 14


def inputs(random, n):
    return {"x": random.floats(n), "y": random.floats(n), "a": np.float32(2.5), "n": n}


def reference(x, y, a, n):
    return {"out": np.float64(a) * x.astype(np.float64) + y.astype(np.float64)}


def scale(x, y, a, n):
    return {"out": np.abs(np.float64(a) * x.astype(np.float64)) + np.abs(y.astype(np.float64))}


exercise = Exercise(
    kernel="void axpy(const float* x, const float* y, float* out, float a, int n)",
    sizes=sizes(4 * BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // (4 * BLOCK)), block=BLOCK),
    roundings=2,
    scale=scale,
    budget=Budget(at=AT, bytes_loaded=8 * AT, bytes_stored=4 * AT, instructions_per_warp=45),
)
