"""A matrix of any size by a grid of a fixed one: two loops, a step of the whole grid in each direction."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, Sizes

X, Y, GRID = 32, 8, (2, 3)


def inputs(random, rows, cols):
    a, key = (random.integers(shape, 0, 2**32 - 1, np.uint32) for shape in ((rows, cols), rows))
    return {"a": a, "key": key, "rows": rows, "cols": cols}


def reference(a, key, rows, cols):
    return {"out": a ^ key[:, None]}


exercise = Exercise(
    kernel="void encrypt(const unsigned* a, const unsigned* key, unsigned* out, int rows, int cols)",
    sizes=Sizes([(1, 1), (1, 65), (25, 1), (24, 64), (25, 65), (23, 63), (7, 200), (50, 31), (97, 131)]),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, cols: Launch(grid=GRID, block=(X, Y)),
    budget=Budget(at=(96, 256), bytes_loaded=1.2 * 4 * 96 * 256, bytes_stored=4 * 96 * 256, instructions_per_warp=240),
)
