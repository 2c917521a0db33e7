"""Gradients for μ and log σ²: through the sample, and of the KL term; missing terms and signs are named."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256
NAMES = ("dz", "m", "v", "e")


def inputs(random, n):
    draw = random.generator
    given = {name: draw.standard_normal(n).astype(np.float32) for name in ("dz", "m", "e", "dm", "dv")}
    return given | {"v": draw.uniform(-8, 4, n).astype(np.float32), "n": n}


def terms(given):
    """What each gradient is a sum of: through the sample, and of the KL term."""
    dz, mu, v, noise = (given[name].astype(np.float64) for name in NAMES)
    return {
        "dm": (dz, mu),
        "dv": (dz * noise * np.exp(v / 2) / 2, np.exp(v) / 2, np.full_like(v, -0.5)),
    }


def reference(**given):
    return {name: sum(parts) for name, parts in terms(given).items()}


def scale(**given):
    return {name: sum(np.abs(part) for part in parts) for name, parts in terms(given).items()}


def terms_wrong(failure):
    """Another sum of the same terms, or one on top of what the buffer held."""
    sample, *rest = terms(failure.inputs)[failure.name]
    penalty = sum(rest)
    told = {"name": failure.name}

    def near(other):
        return np.allclose(failure.got, other, rtol=1e-4, atol=1e-4)

    for cause, other, en, zh in (
        ("stale", sample + penalty + failure.inputs[failure.name],
         "still holds the gradient of the previous step: overwrite it, do not add to it",
         "里还留着上一步的梯度：要覆盖，不要累加"),
        ("no-kl", sample, "lacks the KL term's part", "缺了 KL 项的那一份"),
        ("kl-sign", sample - penalty, "has the KL term's part with the wrong sign", "里 KL 项那一份的符号反了"),
        ("no-half", 2 * sample + penalty,
         "has twice the part that comes through the sample: the derivative of exp(v/2) is exp(v/2) / 2",
         "里经过采样的那一份多了一倍：exp(v/2) 的导数是它自己的一半"),
    ):  # fmt: skip
        if near(other):
            return Cause(cause, told, {"en": "{size}: {name} " + en, "zh": "{size}：{name} " + zh}, "vae#backward")
    return None


def not_sigma(failure):
    """log σ² in the place of σ."""
    if failure.name != "dv":
        return None
    dz, _, v, noise = (failure.inputs[name].astype(np.float64) for name in NAMES)
    if np.allclose(failure.got, dz * noise * v / 2 + (v**2 - 1) / 2, rtol=1e-4, atol=1e-4):
        return Cause("not-sigma", {}, {
            "en": "{size}: dv uses v in place of σ. σ is exp(0.5 * v)",
            "zh": "{size}：dv 把 v 当成了 σ。σ 是 exp(0.5 * v)",
        }, "vae#reparameterise")  # fmt: skip
    return None


exercise = Exercise(
    kernel="void backward(const float* dz, const float* m, const float* v, const float* e, "
    "float* dm, float* dv, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=lambda dz, m, v, e, dm, dv, n: reference(dz=dz, m=m, v=v, e=e),
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    roundings=8,
    scale=lambda dz, m, v, e, dm, dv, n: scale(dz=dz, m=m, v=v, e=e),
    causes=(terms_wrong, not_sigma),
    budget=Budget(at=1 << 14, bytes_loaded=4 * 4 << 14, sectors_per_load=4.0, sectors_per_store=4.0),
)
