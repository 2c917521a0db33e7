"""Copy a matrix whose rows are a pitch apart, in bytes, to one whose rows follow each other."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes_2d

X, Y = 32, 8  # threads of a block


def pitch_of(cols):
    """Bytes from row to row: a multiple of 128, and more than a row needs, for two in three widths."""
    return 128 * (-(-cols // 32) + cols % 3)


def inputs(random, rows, cols):
    pitch = pitch_of(cols)
    return {"in": random.floats((rows, pitch // 4)), "rows": rows, "cols": cols, "pitch": pitch}


def reference(rows, cols, pitch, **arrays):
    return {"out": arrays["in"][:, :cols].astype(np.float64)}


def pitch_forgotten(failure):
    flat = failure.inputs["in"].reshape(-1)
    if not np.array_equal(failure.got.reshape(-1), flat[: failure.got.size]):
        return None
    return Cause(
        "pitch-forgotten",
        {"pitch": failure.inputs["pitch"]},
        {
            "en": "{size}: out is the beginning of `in` as it lies there; row r of `in` begins {pitch} bytes after "
            "row r - 1",
            "zh": "{size}：out 就是 in 开头的一段；in 的第 r 行比第 r - 1 行靠后 {pitch} 字节",
        },
        "thread-organisation#pitched",
    )


exercise = Exercise(
    kernel="void unpitch(const float* in, float* out, int rows, int cols, int pitch)",
    sizes=sizes_2d(Y, X),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, cols: Launch(grid=(-(-cols // X), -(-rows // Y)), block=(X, Y)),
    causes=(pitch_forgotten,),
    budget=Budget(at=(64, 128), sectors_per_load=4.0, sectors_per_store=4.0),
)
