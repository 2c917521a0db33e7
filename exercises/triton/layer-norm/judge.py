import numpy as np
from warpjudge import Budget, Cause, Exercise, Programs, Sizes

BLOCK = 256
EPSILON = 1e-5


def inputs(random, rows, columns):
    middle = random.generator.uniform(-100, 100, (rows, 1))
    x = (random.generator.standard_normal((rows, columns)) + middle).astype(np.float32)
    return {"x": x, "weight": random.floats(columns), "bias": random.floats(columns), "columns": columns,
            "epsilon": np.float32(EPSILON)}  # fmt: skip


def normal(x, epsilon):
    x = x.astype(float)
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + epsilon)


def reference(x, weight, bias, columns, epsilon):
    return {"out": normal(x, epsilon) * weight + bias}


def scale(x, weight, bias, columns, epsilon):
    """A deviation is off by a rounding of the numbers whose difference it is."""
    x = x.astype(float)
    size = (np.abs(x).max(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + epsilon)
    return {"out": size * np.abs(weight) + np.abs(bias)}


def of_block(failure):
    """Mean or variance over BLOCK elements, of which only `columns` are there."""
    x, columns = failure.inputs["x"].astype(float), int(failure.inputs["columns"])
    missing = BLOCK - columns
    if missing == 0:
        return None
    mean = x.mean(1, keepdims=True)
    spread = ((x - mean) ** 2).sum(1, keepdims=True)
    counted = {
        "mean-of-block": (x - x.sum(1, keepdims=True) / BLOCK, None),
        "masked-in-variance": (x - mean, (spread + missing * mean**2) / columns),
        "divided-by-block": (x - mean, spread / BLOCK),
    }
    for name, (deviation, variance) in counted.items():
        variance = (deviation**2).sum(1, keepdims=True) / columns if variance is None else variance
        guess = deviation / np.sqrt(variance + EPSILON) * failure.inputs["weight"] + failure.inputs["bias"]
        if np.allclose(failure.got, guess, rtol=1e-3, atol=1e-3):
            row, column = divmod(int(np.argmax(failure.wrong)), columns)
            about = {"at": f"[{row}][{column}]", "got": f"{failure.got[row, column]:.5g}", "missing": missing}
            return Cause(name, about | {"want": f"{failure.want[row, column]:.5g}"}, SENTENCES[name])
    return None


SENTENCES = {
    "mean-of-block": {
        "en": "{size}: out{at} is {got}, expected {want}: the mean is divided by BLOCK, and a row has fewer elements",
        "zh": "{size}：out{at} 是 {got}，应为 {want}：求均值时除以了 BLOCK，而一行的元素没有那么多",
    },
    "masked-in-variance": {
        "en": "{size}: out{at} is {got}, expected {want}: {missing} elements that the mask excludes count in the "
        "variance, each as 0 minus the mean",
        "zh": "{size}：out{at} 是 {got}，应为 {want}：被掩码排除的 {missing} 个元素也计入了方差，每个都按 0 减均值计算",
    },
    "divided-by-block": {
        "en": "{size}: out{at} is {got}, expected {want}: the variance is divided by BLOCK, and a row has fewer "
        "elements",
        "zh": "{size}：out{at} 是 {got}，应为 {want}：求方差时除以了 BLOCK，而一行的元素没有那么多",
    },
}


exercise = Exercise(
    kernel="def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr)",
    types="const float* x, const float* weight, const float* bias, float* out, int columns, float epsilon",
    sizes=Sizes([(2, 5), (3, 31), (4, 97), (7, 131), (3, 255), (2, 256), (16, 64)]),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, columns: Programs(rows, BLOCK=BLOCK),
    roundings=24,
    scale=scale,
    causes=(of_block,),
    budget=Budget(at=(48, 256), bytes_loaded=3 * 48 * 256 * 4, bytes_stored=48 * 256 * 4),
)
