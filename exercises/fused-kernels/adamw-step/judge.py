"""One step of AdamW: both averages corrected and kept, and a decay that is no part of the gradient."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256
BETA1, BETA2, TINY = np.float64(np.float32(0.9)), np.float64(np.float32(0.999)), 1e-8
NEW1, NEW2 = np.float64(np.float32(0.1)), np.float64(np.float32(0.001))
RATE, DECAY = np.float32(0.02), np.float32(0.3)


def inputs(random, n):
    """The state after some steps on gradients of about the same size."""
    step = int(random.generator.integers(2, 6))
    draw = random.generator.standard_normal
    gradient = draw(n) * 10 ** random.generator.uniform(-2, 1, n)
    size = gradient**2 * random.generator.uniform(0.5, 2, n)
    return {
        "p": draw(n).astype(np.float32),
        "g": gradient.astype(np.float32),
        "m": ((1 - 0.9 ** (step - 1)) * gradient * random.generator.uniform(-1, 2, n)).astype(np.float32),
        "v": ((1 - 0.999 ** (step - 1)) * size).astype(np.float32),
        "lr": RATE,
        "decay": DECAY,
        "c1": np.float32(1 / (1 - 0.9**step)),
        "c2": np.float32(1 / (1 - 0.999**step)),
        "n": n,
    }


def averages(gradient, m, v):
    return BETA1 * m + NEW1 * gradient, BETA2 * v + NEW2 * gradient**2


def reference(p, g, m, v, lr, decay, c1, c2, n):
    p, g, m, v, lr, decay, c1, c2 = (np.asarray(a, float) for a in (p, g, m, v, lr, decay, c1, c2))
    mean, square = averages(g, m, v)
    step = mean * c1 / (np.sqrt(square * c2) + TINY)
    return {"p": p - lr * (step + decay * p), "m": mean, "v": square}


def scale(p, g, m, v, lr, decay, c1, c2, n):
    """The terms of each sum."""
    p, g, m, v = (np.abs(a.astype(float)) for a in (p, g, m, v))
    mean, square = averages(g, m, v)
    step = mean * c1 / np.sqrt(square * c2)
    return {"p": p + lr * (step + decay * p), "m": mean, "v": square}


def instead(failure):
    """What another optimiser would have done."""
    given = {name: np.asarray(value, float) for name, value in failure.inputs.items()}
    p, g, m, v, lr, decay = (given[name] for name in ("p", "g", "m", "v", "lr", "decay"))
    one, two = given["c1"], given["c2"]
    mean, square = averages(g, m, v)
    coupled_mean, coupled_square = averages(g + decay * p, m, v)
    step = mean * one / (np.sqrt(square * two) + TINY)
    guesses = {
        "biased": {"p": p - lr * (mean / (np.sqrt(square) + TINY) + decay * p)},
        "half-biased": {"p": p - lr * (mean * one / (np.sqrt(square) + TINY) + decay * p)},
        "correction-outside-root": {"p": p - lr * (mean * one / (np.sqrt(square) * two + TINY) + decay * p)},
        "coupled": {
            "p": p - lr * coupled_mean * one / (np.sqrt(coupled_square * two) + TINY),
            "m": coupled_mean,
            "v": coupled_square,
        },
        "no-decay": {"p": p - lr * step},
        "decay-without-rate": {"p": p - lr * step - decay * p},
        "old-averages": {"p": p - lr * (m * one / (np.sqrt(v * two) + TINY) + decay * p)},
    }
    for name, guess in guesses.items():
        if failure.name in guess and np.allclose(failure.got, guess[failure.name], rtol=1e-4, atol=1e-5):
            at = int(np.argmax(failure.wrong))
            about = {"name": failure.name, "at": f"[{at}]", "got": f"{failure.got[at]:.6g}"}
            return Cause(name, about | {"want": f"{failure.want[at]:.6g}"}, SENTENCES[name], "fused-kernels#adamw")
    return None


SENTENCES = {
    "biased": {
        "en": "{size}: {name}{at} is {got}, expected {want}: neither average is corrected. Both started at 0 and are "
        "too small after a few steps",
        "zh": "{size}：{name}{at} 是 {got}，应为 {want}：两个平均都没有修正。它们从 0 开始，头几步都偏小",
    },
    "half-biased": {
        "en": "{size}: {name}{at} is {got}, expected {want}: only the first average is corrected, so the first steps "
        "are far too long",
        "zh": "{size}：{name}{at} 是 {got}，应为 {want}：只修正了一阶平均，头几步的步长会大得多",
    },
    "correction-outside-root": {
        "en": "{size}: {name}{at} is {got}, expected {want}: c2 belongs to the average of the squares, under the root",
        "zh": "{size}：{name}{at} 是 {got}，应为 {want}：c2 修正的是平方的平均，应当在根号里面",
    },
    "coupled": {
        "en": "{size}: {name}{at} is {got}, expected {want}: the decay was added to the gradient, so it went through "
        "both averages. In AdamW it acts on p alone",
        "zh": "{size}：{name}{at} 是 {got}，应为 {want}：权重衰减加进了梯度，于是也进入了两个平均。"
        "AdamW 的衰减只直接作用于 p",
    },
    "no-decay": {
        "en": "{size}: {name}{at} is {got}, expected {want}: p does not decay",
        "zh": "{size}：{name}{at} 是 {got}，应为 {want}：p 没有衰减",
    },
    "decay-without-rate": {
        "en": "{size}: {name}{at} is {got}, expected {want}: the decay is not multiplied by lr",
        "zh": "{size}：{name}{at} 是 {got}，应为 {want}：衰减没有乘以 lr",
    },
    "old-averages": {
        "en": "{size}: {name}{at} is {got}, expected {want}: the step uses the averages from before this gradient",
        "zh": "{size}：{name}{at} 是 {got}，应为 {want}：这一步用的是计入本次梯度之前的平均",
    },
}


exercise = Exercise(
    kernel="void adamw(float* p, const float* g, float* m, float* v, float lr, float decay, float c1, float c2, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    roundings=10,
    scale=scale,
    causes=(instead,),
    budget=Budget(at=1 << 14, bytes_loaded=16 << 14, bytes_stored=12 << 14),
)
