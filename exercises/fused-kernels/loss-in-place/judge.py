"""Softmax cross-entropy whose gradient takes the place of the logits: label, loss, and what was read too late."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 256


def inputs(random, rows, n):
    """Small logits, all far up, all far down, and a label that is nearly impossible; some rows are to be ignored."""
    draw = random.generator.standard_normal
    label = random.integers(rows, 0, n - 2).astype(np.int32)
    x = 2 * draw((rows, n))
    kind = (np.arange(rows) + int(random.generator.integers(4))) % 4
    x[kind == 1] += 500
    x[kind == 2] -= 500
    impossible = np.flatnonzero(kind == 3)
    x[impossible, label[impossible]] -= 200
    label[random.generator.random(rows) < 0.2] = -1
    label[0] = max(label[0], 0)
    return {"logits": x.astype(np.float32), "label": label, "n": n}


def probabilities(logits):
    e = np.exp(logits.astype(float) - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def hot(label, n, shift=0):
    return (np.arange(n) == label[:, None] + shift) & (label[:, None] >= 0)


def losses(logits, label):
    wide = logits.astype(float)
    whole = np.log(np.exp(wide - wide.max(1, keepdims=True)).sum(1)) + wide.max(1)
    return np.where(label < 0, 0, whole - wide[np.arange(len(label)), np.maximum(label, 0)])


def reference(logits, label, n):
    return {
        "logits": probabilities(logits) * (label >= 0)[:, None] - hot(label, n),
        "loss": losses(logits, label),
    }


def scale(logits, label, n):
    """A probability inherits the rounding of x - maximum, a loss that of the logits."""
    down = logits.max(axis=1, keepdims=True) - logits.astype(float)
    kept = label >= 0
    return {
        "logits": (probabilities(logits) * (2 + n / 256 + down) + hot(label, n)) * kept[:, None],
        "loss": (np.abs(logits).max(1) + 10 + n / 256) * kept,
    }


def about_label(failure):
    """Probabilities that are right, with another thing subtracted."""
    if failure.name != "logits":
        return None
    logits, label = failure.inputs["logits"], failure.inputs["label"]
    p, n = probabilities(logits), logits.shape[1]
    kept = (label >= 0)[:, None]
    guesses = {
        "no-label": p * kept,
        "label-shifted": p * kept - hot(label, n, 1),
        "turned": hot(label, n) - p * kept,
    }
    for name, guess in guesses.items():
        if np.allclose(failure.got, guess, rtol=1e-3, atol=1e-6):
            row, column = divmod(int(np.argmax(failure.wrong)), n)
            got, want = failure.got[row, column], failure.want[row, column]
            about = {"at": f"[{row}][{column}]", "got": f"{got:.5g}", "want": f"{want:.5g}"}
            return Cause(name, about, SENTENCES[name], "fused-kernels#classifier")
    return None


def about_loss(failure):
    if failure.name != "loss":
        return None
    logits, label = failure.inputs["logits"], failure.inputs["label"]
    kept = label >= 0
    row = int(np.argmax(failure.wrong))
    about = {"row": row, "got": f"{failure.got[row]:.5g}", "want": f"{failure.want[row]:.5g}"}
    if np.isposinf(failure.got[failure.wrong]).all():
        return Cause("loss-infinite", about, SENTENCES["loss-infinite"], "fused-kernels#classifier")
    if np.allclose(failure.got, (losses(logits, label) - logits.max(1)) * kept, rtol=1e-3, atol=1e-3):
        name = "loss-without-maximum"
        return Cause(name, about, SENTENCES[name], "fused-kernels#classifier")
    return None


SENTENCES = {
    "no-label": {
        "en": "{size}: logits{at} is {got}, expected {want}: these are the probabilities; at the label the "
        "gradient is 1 less",
        "zh": "{size}：logits{at} 是 {got}，应为 {want}：写出的是概率；标签所在的位置，梯度还要减 1",
    },
    "label-shifted": {
        "en": "{size}: logits{at} is {got}, expected {want}: 1 is subtracted one place after the label",
        "zh": "{size}：logits{at} 是 {got}，应为 {want}：减 1 的位置比标签晚了一个",
    },
    "turned": {
        "en": "{size}: logits{at} is {got}, expected {want}: the sign is wrong: the gradient of the loss is p minus "
        "1 at the label",
        "zh": "{size}：logits{at} 是 {got}，应为 {want}：符号反了：损失的梯度是 p 减去标签处的 1",
    },
    "loss-infinite": {
        "en": "{size}: loss[{row}] is {got}, expected {want}: the label's probability is 0 in float, and its "
        "logarithm infinite. Take the loss from the logits: maximum + log(sum) - logit",
        "zh": "{size}：loss[{row}] 是 {got}，应为 {want}：标签的概率在 float 里是 0，它的对数是无穷大。"
        "请直接由 logits 求损失：最大值 + log(总和) - 标签的 logit",
    },
    "loss-without-maximum": {
        "en": "{size}: loss[{row}] is {got}, expected {want}: the row's maximum was subtracted in the sum and has to "
        "be added to its logarithm",
        "zh": "{size}：loss[{row}] 是 {got}，应为 {want}：求和时减去了这一行的最大值，取对数之后要加回来",
    },
}


exercise = Exercise(
    kernel="void loss_in_place(float* logits, const int* label, float* loss, int n)",
    sizes=Sizes([(8, 5), (9, 17), (8, 31), (12, 32), (9, 100), (8, 255), (9, 256), (8, 257), (9, 519), (8, 1031)]),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, n: Launch(grid=rows, block=BLOCK),
    roundings=6,
    scale=scale,
    causes=(about_label, about_loss),
    budget=Budget(at=(8, 2048), bytes_loaded=210 << 10, instructions_per_warp=1100),
)
