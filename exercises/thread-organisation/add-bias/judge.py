"""Add one number per row to a matrix whose edges fit no block."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, sizes_2d

X, Y = 32, 8  # threads of a block


def inputs(random, rows, cols):
    return {"a": random.floats((rows, cols)), "bias": random.floats(rows), "rows": rows, "cols": cols}


def reference(a, bias, rows, cols):
    return {"out": a.astype(np.float64) + bias.astype(np.float64)[:, None]}


exercise = Exercise(
    kernel="void add_bias(const float* a, const float* bias, float* out, int rows, int cols)",
    sizes=sizes_2d(Y, X),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, cols: Launch(grid=(-(-cols // X), -(-rows // Y)), block=(X, Y)),
    roundings=1,
    budget=Budget(at=(64, 128), sectors_per_load=2.6, sectors_per_store=4.0),
)
