import numpy as np
from warpjudge import Budget, Cause, Exercise, Programs, Sizes

BLOCK = 256


def inputs(random, rows, columns):
    return {
        "x": random.floats((rows, columns)),
        "scale": random.floats(columns),
        "shift": random.floats(columns),
        "residual": random.floats((rows, columns)),
        "total": rows * columns,
        "columns": columns,
    }


def chain(x, scale, shift, residual):
    return np.maximum(x.astype(float) * scale + shift, 0) + residual


def reference(x, scale, shift, residual, total, columns):
    return {"out": chain(x, scale, shift, residual)}


def size(x, scale, shift, residual, total, columns):
    return {"out": np.abs(x.astype(float) * scale) + np.abs(shift) + np.abs(residual)}


def known(failure):
    """The chain with another order, or the parameters of another element."""
    x, scale, shift, residual = (failure.inputs[name] for name in ("x", "scale", "shift", "residual"))
    columns = x.shape[1]
    by_row = np.arange(x.size).reshape(x.shape) // columns
    inside = by_row < columns
    row = np.minimum(by_row, columns - 1)
    guesses = {
        "by-row": chain(x, np.where(inside, scale[row], 0), np.where(inside, shift[row], 0), residual),
        "relu-last": np.maximum(x.astype(float) * scale + shift + residual, 0),
        "relu-first": np.maximum(x.astype(float), 0) * scale + shift + residual,
        "no-residual": chain(x, scale, shift, 0),
    }
    for name, guess in guesses.items():
        if np.allclose(failure.got, guess, rtol=1e-4, atol=1e-5):
            row, column = divmod(int(np.argmax(failure.wrong)), columns)
            about = {"at": f"[{row}][{column}]", "got": f"{failure.got[row, column]:.5g}"}
            return Cause(name, about | {"want": f"{failure.want[row, column]:.5g}"}, SENTENCES[name])
    return None


SENTENCES = {
    "by-row": {
        "en": "{size}: out{at} is {got}, expected {want}: scale and shift are those of the row; element i is in "
        "column i % columns",
        "zh": "{size}：out{at} 是 {got}，应为 {want}：scale 和 shift 取成了按行的；元素 i 在第 i % columns 列",
    },
    "relu-last": {
        "en": "{size}: out{at} is {got}, expected {want}: the ReLU comes after the residual, and should come before it",
        "zh": "{size}：out{at} 是 {got}，应为 {want}：ReLU 做在了加 residual 之后，应当在之前",
    },
    "relu-first": {
        "en": "{size}: out{at} is {got}, expected {want}: the ReLU is of x alone, and should be of x * scale + shift",
        "zh": "{size}：out{at} 是 {got}，应为 {want}：ReLU 只作用在 x 上，应当作用在 x * scale + shift 上",
    },
    "no-residual": {
        "en": "{size}: out{at} is {got}, expected {want}: the residual is missing",
        "zh": "{size}：out{at} 是 {got}，应为 {want}：没有加 residual",
    },
}


exercise = Exercise(
    kernel="def chain(x, scale, shift, residual, out, total, columns, BLOCK: tl.constexpr)",
    types="const float* x, const float* scale, const float* shift, const float* residual, float* out, "
    "int total, int columns",
    sizes=Sizes([(1, 3), (3, 2), (4, 33), (7, 97), (2, 128), (3, 131), (9, 64), (17, 48)]),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, columns: Programs(-(-rows * columns // BLOCK), BLOCK=BLOCK),
    roundings=3,
    scale=size,
    causes=(known,),
    budget=Budget(at=(64, 256), bytes_loaded=4 * 4 * 64 * 256, bytes_stored=4 * 64 * 256),
)
