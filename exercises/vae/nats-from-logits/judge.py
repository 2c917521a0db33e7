"""−log p(x) of pixels from logits, and its slope: stable for any logit, exact where the result is small."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256


def inputs(random, n):
    """Logits of all sizes and both signs; the pixel often agrees with a large one, where results are small."""
    draw = random.generator
    size = 10 ** draw.uniform(-3, 4, n)
    logits = np.where(draw.integers(0, 2, n) == 1, size, -size).astype(np.float32)
    agree = (logits > 0).astype(np.float32)
    x = np.where(draw.integers(0, 4, n) == 0, 1 - agree, agree).astype(np.float32)
    return {"logits": logits, "x": x, "n": n}


def reference(logits, x, n):
    a = logits.astype(np.float64)
    e = np.exp(-np.abs(a))
    nats = np.maximum(a, 0) - a * x + np.log1p(e)
    right = (a > 0) == (x == 1)  # the pixel agrees with the logit's sign: a small slope
    slope = np.where(right, e, 1) / (1 + e)
    return {"nats": nats, "grad": np.where(x == 1, -slope, slope)}


def scale(logits, x, n):
    """Relative to the result, however small: exp rounds its argument, so it may be off by |a| roundings."""
    want = reference(logits, x, n)
    a = np.abs(logits.astype(np.float64))
    loss = (1 + np.minimum(a, 110) / 4) * np.abs(want["nats"])
    return {"nats": loss + 1e-36, "grad": (1 + np.minimum(a, 110) / 4) * np.abs(want["grad"]) + 1e-36}


def overflow(failure):
    """Infinity or NaN where a logit is large."""
    bad = ~np.isfinite(failure.got)
    if not bad.any() or np.abs(failure.inputs["logits"][bad]).min() < 16:
        return None
    i = int(np.argmax(bad))
    found = {"i": i, "name": failure.name, "got": f"{failure.got[i]}", "a": f"{failure.inputs['logits'][i]:g}"}
    return Cause("overflow", found, {
        "en": "{size}: {name}[{i}] is {got} for the logit {a}: an exponential overflows, or the logarithm of 0 is "
              "taken. Use only exp(-|a|), which is at most 1",
        "zh": "{size}：logit 为 {a} 时 {name}[{i}] 是 {got}：指数溢出，或者对 0 取了对数。只用 exp(-|a|)，它不超过 1",
    }, "vae#bernoulli")  # fmt: skip


def sign(failure):
    """The slope with the other sign, or pixels taken for their opposite."""
    if failure.name == "grad" and np.allclose(failure.got, -failure.want, rtol=1e-3, atol=1e-30):
        return Cause("sign", {}, {
            "en": "{size}: grad has the wrong sign: the derivative of −log p(x) is p − x, not x − p",
            "zh": "{size}：grad 的符号反了：−log p(x) 的斜率是 p − x，不是 x − p",
        }, "vae#bernoulli")  # fmt: skip
    given = failure.inputs
    opposite = reference(given["logits"], 1 - given["x"], len(given["x"]))[failure.name]
    if np.allclose(failure.got, opposite, rtol=1e-3, atol=1e-30):
        return Cause("opposite", {"name": failure.name}, {
            "en": "{size}: {name} is that of the opposite pixel: x is 1 where p should be near 1",
            "zh": "{size}：{name} 是相反像素的结果：x 为 1 时 p 应当接近 1",
        }, "vae#bernoulli")  # fmt: skip
    return None


def digits_lost(failure):
    """Right to an absolute error of 1e-5, wrong relative to a small result."""
    if not np.isfinite(failure.got).all() or np.abs(failure.got - failure.want)[failure.wrong].max() > 1e-4:
        return None
    i = int(np.argmax(failure.wrong))
    found = {"i": i, "name": failure.name, "got": f"{failure.got[i]:.7g}", "want": f"{failure.want[i]:.7g}"}
    return Cause("digits-lost", found, {
        "en": "{size}: {name}[{i}] is {got}, expected {want}: the digits of a small result are lost. 1 + e rounds to 1 "
              "if e is small, and p − 1 to 0 if p is near 1: use log1pf(e), and −e / (1 + e)",
        "zh": "{size}：{name}[{i}] 是 {got}，应为 {want}：小结果的有效数字丢了。e 很小时 1 + e 舍入成 1，"
              "p 接近 1 时 p − 1 变成 0：请用 log1pf(e)，以及 −e / (1 + e)",
    }, "vae#bernoulli")  # fmt: skip


exercise = Exercise(
    kernel="void pixel_nats(const float* logits, const float* x, float* nats, float* grad, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    roundings=6,
    scale=scale,
    causes=(overflow, sign, digits_lost),
    budget=Budget(at=1 << 14, sectors_per_load=4.0, sectors_per_store=4.0),
)
