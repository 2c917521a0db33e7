"""Transpose a matrix of any shape, a tile of 32 x 32 per block."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes_2d

TILE, ROWS = 32, 8
AT = (64, 128)


def inputs(random, rows, cols):
    return {"a": random.floats((rows, cols)), "rows": rows, "cols": cols}


def reference(a, rows, cols):
    return {"out": a.astype(np.float64).T}


def tile_not_turned(failure):
    """Every tile is where it belongs, and its square part holds what it held before."""
    a, got = failure.inputs["a"], failure.got
    rows, cols = a.shape
    largest = 1
    for r in range(0, rows, TILE):
        for c in range(0, cols, TILE):
            k = min(TILE, rows - r, cols - c)
            if not np.array_equal(got[c : c + k, r : r + k], a[r : r + k, c : c + k]):
                return None
            largest = max(largest, k)
    if largest == 1:
        return None
    en = "{size}: every tile is in its new place, but its elements are not turned: read a column of the tile"
    zh = "{size}：每个分块都换到了正确的位置，但分块内部没有转置：应当按列读取分块"
    return Cause("tile-not-turned", {}, {"en": en, "zh": zh}, "memory-access#tiled")


exercise = Exercise(
    kernel="void transpose(const float* a, float* out, int rows, int cols)",
    sizes=sizes_2d(TILE, TILE),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, cols: Launch(grid=(-(-cols // TILE), -(-rows // TILE)), block=(TILE, ROWS)),
    causes=(tile_not_turned,),
    budget=Budget(at=AT, bytes_loaded=4 * AT[0] * AT[1], bytes_stored=4 * AT[0] * AT[1], bank_conflicts=0),
)
