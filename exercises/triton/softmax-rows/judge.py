import numpy as np
from warpjudge import Budget, Cause, Exercise, Programs, Sizes

BLOCK = 256


def inputs(random, rows, columns):
    x = random.floats((rows, columns))
    x[0] += 100  # tl.exp of these is infinite
    x[rows // 2] -= 120  # and of these 0
    return {"x": x, "columns": columns}


def reference(x, columns):
    raised = np.exp(x.astype(float) - x.max(axis=1, keepdims=True))
    return {"out": raised / raised.sum(axis=1, keepdims=True)}


def scale(x, columns):
    """The exponent is off by at most 2**-24 of its size, and so is its power, in parts of itself."""
    exponent = x.astype(float) - x.max(axis=1, keepdims=True)
    out = np.exp(exponent)
    return {"out": out / out.sum(axis=1, keepdims=True) * (1 + np.abs(exponent))}


def masked_in_sum(failure):
    """Lanes beyond the row count in its sum, each as a 0 that was loaded."""
    x, columns = failure.inputs["x"].astype(float), int(failure.inputs["columns"])
    largest = x.max(axis=1, keepdims=True)
    raised = np.exp(x - largest)
    with np.errstate(over="ignore"):
        guess = raised / (raised.sum(axis=1, keepdims=True) + (BLOCK - columns) * np.exp(-largest))
    if columns == BLOCK or not np.allclose(failure.got, guess, rtol=1e-3):
        return None
    row, column = divmod(int(np.argmax(failure.wrong)), columns)
    about = {"at": f"[{row}][{column}]", "row": row, "missing": BLOCK - columns}
    about |= {"got": f"{failure.got[row, column]:.5g}", "want": f"{failure.want[row, column]:.5g}"}
    return Cause("masked-in-sum", about, MASKED_IN_SUM)


MASKED_IN_SUM = {
    "en": "{size}: out{at} is {got}, expected {want}: {missing} elements that the mask excludes count in the sum of "
    "row {row}, each as the exponential of 0 minus the largest",
    "zh": "{size}：out{at} 是 {got}，应为 {want}：被掩码排除的 {missing} 个元素也计入了行号为 {row} 的那一行的总和，"
    "每个都按 0 减最大值取了指数",
}


exercise = Exercise(
    kernel="def softmax(x, out, columns, BLOCK: tl.constexpr)",
    types="const float* x, float* out, int columns",
    sizes=Sizes([(1, 1), (1, 3), (3, 2), (2, 31), (4, 33), (7, 97), (5, 131), (3, 255), (2, 256), (16, 64)]),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, columns: Programs(rows, BLOCK=BLOCK),
    roundings=12,
    scale=scale,
    causes=(masked_in_sum,),
    budget=Budget(at=(48, 256), bytes_loaded=48 * 256 * 4, bytes_stored=48 * 256 * 4, instructions_per_warp=90),
)
