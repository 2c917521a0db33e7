"""Undo the loss scale, and count the gradients that overflowed on the way."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256


def inputs(random, n):
    """Finite numbers of all sizes, and among them infinities of both signs and NaN; bad starts at some number."""
    scaled = random.floats(n)
    scaled[::5] *= np.float32(1e7)  # finite, though no float16 could hold it
    kind = random.integers(n, 0, 12, np.int32)
    for k, x in enumerate((np.inf, -np.inf, np.nan)):
        scaled[kind == k] = x
    return {"scaled": scaled, "bad": random.integers(1, 0, 100, np.int32), "scale": np.float32(4096), "n": n}


def reference(scaled, bad, scale, n):
    finite = np.isfinite(scaled)
    g = np.where(finite, np.where(finite, scaled, 0).astype(np.float64) / scale, 0.0)
    return {"g": g, "bad": bad.astype(np.int64) + int((~finite).sum())}


SECTION = "training-tricks#scaling"


def which(failure):
    """What was done to numbers of one kind, or to all of them."""
    x, got = failure.inputs["scaled"], failure.got
    if failure.name != "g":
        if got[0] == 1:
            return Cause(
                "only-a-flag",
                {"got": int(got[0]), "want": int(failure.want[0])},
                {
                    "en": "{size}: bad[0] is {got}, expected {want}: it has to count every gradient that is not finite",
                    "zh": "{size}：bad[0] 是 {got}，应为 {want}：要数清每一个不是有限数的梯度",
                },
                SECTION,
            )
        return None
    finite, scale = np.isfinite(x), float(failure.inputs["scale"])
    i = int(np.argmax(failure.wrong))
    values = {"i": i, "got": f"{got[i]:.6g}", "want": f"{failure.want[i]:.6g}", "x": f"{x[i]:.6g}"}
    head = {"en": "{size}: g[{i}] is {got}, expected {want}: ", "zh": "{size}：g[{i}] 是 {got}，应为 {want}："}
    wrong, wide = failure.wrong, np.where(finite, x, 0).astype(np.float64)
    found = {
        "nan-passes": (
            bool((np.isnan(x) == wrong).all() and wrong.any()),
            "NaN passes the check. It is neither finite nor infinite, and every comparison with it is false",
            "NaN 通过了检查。它既不是有限数也不是无穷大，而且与它的任何比较都为假",
        ),
        "minus-infinity": (
            bool((np.isneginf(x) == wrong).all() and wrong.any()),
            "minus infinity passes the check",
            "负无穷通过了检查",
        ),
        "finite-refused": (
            bool((finite & (got == 0) & wrong)[wrong].all()),
            "scaled is {x}, which is finite in float32, and was refused. The limit is infinity and not 65504",
            "scaled 是 {x}，在 float32 里是有限数，却被拒绝了。界限是无穷大，不是 65504",
        ),
        "not-unscaled": (
            bool(np.allclose(got[finite], wide[finite], rtol=1e-5, atol=0)),
            "the loss scale has not been removed. Divide by scale",
            "损失的倍数还在里面。请除以 scale",
        ),
        "scaled-again": (
            bool(np.allclose(got[finite], (wide * scale)[finite], rtol=1e-5, atol=0)),
            "multiplied by scale where it should be divided",
            "应该除以 scale，却乘了",
        ),
    }
    for cause, (holds, en, zh) in found.items():
        if holds:
            return Cause(cause, values, {"en": head["en"] + en, "zh": head["zh"] + zh}, SECTION)
    return None


exercise = Exercise(
    kernel="void unscale(const float* scaled, float* g, int* bad, float scale, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    roundings=2,
    causes=(which,),
    budget=Budget(at=1 << 14, sectors_per_load=4.0, sectors_per_store=4.0, bytes_loaded=4 << 14),
)
