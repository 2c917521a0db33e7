"""z = μ + σ ε and the KL term of each row, in one reading; formulas mistaken for others are named."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

WARPS = 4  # of a block


def inputs(random, rows, d):
    draw = random.generator
    return {
        "mu": draw.standard_normal((rows, d)).astype(np.float32),
        "v": draw.uniform(-8, 4, (rows, d)).astype(np.float32),
        "eps": draw.standard_normal((rows, d)).astype(np.float32),
        "rows": rows,
        "d": d,
    }


def wide(given):
    return (given[name].astype(np.float64) for name in ("mu", "v", "eps"))


def reference(mu, v, eps, rows, d):
    m, log, e = wide({"mu": mu, "v": v, "eps": eps})
    return {"z": m + np.exp(log / 2) * e, "kl": 0.5 * (m**2 + np.exp(log) - 1 - log).sum(axis=1)}


def scale(mu, v, eps, rows, d):
    """What is rounded: the terms; those of a sum once more for each addition of a lane, and a few in exp."""
    m, log, e = wide({"mu": mu, "v": v, "eps": eps})
    terms = (m**2 + np.exp(log) + 1 + np.abs(log)).sum(axis=1)
    return {"z": np.abs(m) + 2 * np.abs(np.exp(log / 2) * e), "kl": terms * (2 + d / 64)}


def like(got, other):
    return np.allclose(got, other, rtol=1e-3, atol=1e-3)


def not_sigma(failure):
    """z from log σ² or σ² in the place of σ."""
    m, v, e = wide(failure.inputs)
    if failure.name != "z":
        return None
    for what, wrong in (("v", v), ("exp(v)", np.exp(v))):
        if like(failure.got, m + wrong * e):
            return Cause("not-sigma", {"what": what}, {
                "en": "{size}: z is mu + {what} * eps: {what} is used in place of σ. σ is exp(0.5 * v)",
                "zh": "{size}：z 等于 mu + {what} * eps：{what} 占了 σ 的位置。σ 是 exp(0.5 * v)",
            }, "vae#reparameterise")  # fmt: skip
    return None


def other_kl(failure):
    """The KL term with another sign, another factor, or a mean for a sum."""
    if failure.name != "kl":
        return None
    d = failure.inputs["mu"].shape[1]
    for cause, factor, en, zh in (
        ("negative", -1, "has the wrong sign: a KL divergence is never negative", "符号反了：KL 散度不会是负数"),
        ("no-half", 2, "is twice what it should be: the factor ½ is missing", "是应有值的两倍：少了系数 ½"),
        ("averaged", 1 / d, "is divided by d: the KL term of a row is a sum over its dimensions, not a mean",
         "被 d 除过：一行的 KL 项是各维之和，不是平均"),
    ):  # fmt: skip
        if d > 1 and like(failure.got, factor * failure.want):
            return Cause(cause, {}, {"en": "{size}: kl " + en, "zh": "{size}：kl " + zh}, "vae#kl")
    return None


exercise = Exercise(
    kernel="void reparam_kl(const float* mu, const float* v, const float* eps, float* z, float* kl, int rows, int d)",
    sizes=Sizes([(1, 1), (9, 2), (8, 3), (7, 17), (9, 31), (8, 32), (9, 33), (16, 97), (14, 256), (13, 1031)]),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, d: Launch(grid=-(-rows // WARPS), block=32 * WARPS),
    roundings=4,
    scale=scale,
    causes=(not_sigma, other_kl),
    budget=Budget(at=(16, 1024), bytes_loaded=204 << 10, sectors_per_load=4.0, sectors_per_store=4.0),
)
