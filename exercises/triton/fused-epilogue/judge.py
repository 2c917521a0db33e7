import numpy as np
from warpjudge import Budget, Cause, Exercise, Programs, Sizes

BM = BN = BK = 32


def inputs(random, m, n, k):
    a, b = (random.generator.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    return {"a": a, "b": b, "bias": random.floats(n) * 4, "m": m, "n": n, "k": k}


def reference(a, b, bias, m, n, k):
    return {"out": np.maximum(a.astype(float) @ b.astype(float) + bias, 0)}


def scale(a, b, bias, m, n, k):
    return {"out": np.abs(a.astype(float)) @ np.abs(b.astype(float)) + np.abs(bias)}


def steps(k):
    return -(-int(k) // BK)


def every_step(a, b, bias, m, n, k):
    """The epilogue within the loop over k."""
    total = np.zeros((int(m), int(n)))
    for i in range(steps(k)):
        part = slice(i * BK, (i + 1) * BK)
        total = np.maximum(total + a.astype(float)[:, part] @ b.astype(float)[part] + bias, 0)
    return total


def bias_each_step(a, b, bias, m, n, k):
    return np.maximum(a.astype(float) @ b.astype(float) + steps(k) * bias, 0)


def bias_last(a, b, bias, m, n, k):
    return np.maximum(a.astype(float) @ b.astype(float), 0) + bias


def bias_by_row(a, b, bias, m, n, k):
    own = np.zeros((int(m), 1))
    own[: len(bias), 0] = bias[: int(m)]
    return np.maximum(a.astype(float) @ b.astype(float) + own, 0)


def no_bias(a, b, bias, m, n, k):
    return np.maximum(a.astype(float) @ b.astype(float), 0)


def no_relu(a, b, bias, m, n, k):
    return a.astype(float) @ b.astype(float) + bias


KNOWN = {
    "bias-each-step": (
        bias_each_step,
        "{size}: {name}{at} is {got}, expected {want}: the bias is added in each of the {steps} steps over k; once "
        "is enough",
        "{size}：{name}{at} 是 {got}，应为 {want}：沿 k 的 {steps} 步里每一步都加了一次偏置，只应加一次",
    ),
    "epilogue-each-step": (
        every_step,
        "{size}: {name}{at} is {got}, expected {want}: the epilogue runs in each of the {steps} steps over k, on "
        "sums that are not complete",
        "{size}：{name}{at} 是 {got}，应为 {want}：沿 k 的 {steps} 步里每一步都执行了尾部运算，而那时的和还不完整",
    ),
    "bias-after-relu": (
        bias_last,
        "{size}: {name}{at} is {got}, expected {want}: the bias is added after the ReLU instead of before it",
        "{size}：{name}{at} 是 {got}，应为 {want}：偏置加在了 ReLU 之后，应当加在之前",
    ),
    "bias-by-row": (
        bias_by_row,
        "{size}: {name}{at} is {got}, expected {want}: the bias of the row is added, and each column has its own",
        "{size}：{name}{at} 是 {got}，应为 {want}：加的是按行取的偏置，而每一列才有自己的偏置",
    ),
    "no-bias": (
        no_bias,
        "{size}: {name}{at} is {got}, expected {want}: the bias is missing",
        "{size}：{name}{at} 是 {got}，应为 {want}：没有加偏置",
    ),
    "no-relu": (
        no_relu,
        "{size}: {name}{at} is {got}, expected {want}: the ReLU is missing",
        "{size}：{name}{at} 是 {got}，应为 {want}：没有做 ReLU",
    ),
}


def known(failure):
    """What somebody computes who puts the epilogue elsewhere."""
    for name, (formula, english, chinese) in KNOWN.items():
        if np.allclose(failure.got, formula(**failure.inputs), rtol=1e-4, atol=1e-4):
            first = int(np.argmax(failure.wrong))
            row, column = divmod(first, failure.want.shape[1])
            about = {"name": "out", "at": f"[{row}][{column}]", "steps": steps(failure.inputs["k"])}
            about |= {"got": f"{failure.got[row, column]:.5g}", "want": f"{failure.want[row, column]:.5g}"}
            return Cause(name, about, {"en": english, "zh": chinese})
    return None


exercise = Exercise(
    kernel="def linear(a, b, bias, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr)",
    types="const __half* a, const __half* b, const float* bias, float* out, int m, int n, int k",
    sizes=Sizes([(2, 3, 5), (17, 19, 23), (33, 31, 47), (32, 64, 96), (40, 71, 37)]),
    inputs=inputs,
    reference=reference,
    launch=lambda m, n, k: Programs((-(-m // BM), -(-n // BN)), BM=BM, BN=BN, BK=BK),
    roundings=110,
    scale=scale,
    causes=(known,),
    budget=Budget(
        at=(64, 96, 128),
        bytes_loaded=2 * (2 * 64 * 96 * 128 // 32) + 2048,  # each number of a for three tiles, of b for two; the bias
        bytes_stored=4 * 64 * 96,
    ),
)
