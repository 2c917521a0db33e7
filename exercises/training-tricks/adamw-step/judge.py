"""One step of AdamW for each parameter. The constants are large enough that every mistake shows."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256
B1, B2, EPS = (float(np.float32(x)) for x in (0.9, 0.98, 0.01))  # as in the file that the reader gets
STEP = 3


def inputs(random, n):
    constants = {"lr": 0.05, "decay": 0.5, "c1": 1 - B1**STEP, "c2": 1 - B2**STEP}
    constants = {name: np.float32(x) for name, x in constants.items()}
    moments = {"m": 0.3 * random.floats(n), "v": np.abs(random.floats(n)) ** 2}
    return {
        "p": random.floats(n),
        "g": random.floats(n),
        **moments,
        **{k: np.float32(x) for k, x in constants.items()},
        "n": n,
    }


def step(p, g, m, v, lr, decay, c1, c2, n, mistake=""):
    p, g, m, v, lr, decay, c1, c2 = (np.float64(x) for x in (p, g, m, v, lr, decay, c1, c2))
    old_m, old_v = m, v
    g = g + decay * p if mistake == "coupled" else g
    m = B1 * m + (1 - B1) * g
    v = B2 * v + (1 - B2) * (g if mistake == "not-squared" else g * g)
    mean, square = (old_m, old_v) if mistake == "stale" else (m, v)
    if mistake != "no-bias-correction":
        mean, square = mean / c1, square / c2
    with np.errstate(invalid="ignore"):
        root = np.sqrt(square + EPS) if mistake == "eps-inside" else np.sqrt(square) + EPS
    move = lr * mean / root
    if mistake == "decay-after":
        p = (p - move) * (1 - lr * decay)
    else:
        p = p - move if mistake == "coupled" else (1 - lr * decay) * p - move
    return {"p": p, "m": m, "v": v}


def scale(p, g, m, v, lr, decay, c1, c2, n):
    p, g, m, v = (x.astype(np.float64) for x in (p, g, m, v))
    terms = np.abs(B1 * m) + np.abs((1 - B1) * g)
    square = B2 * v + (1 - B2) * g * g
    return {"p": np.abs(p) + lr * terms / c1 / (np.sqrt(square / c2) + EPS), "m": terms, "v": square}


SAYS = {
    "no-bias-correction": (
        "the moments start at 0, so both lack a factor 1 / (1 - beta^t). Divide m by c1 and v by c2 in the step",
        "两个矩从 0 开始，都偏小，差一个因子 1 - beta^t。用到时请把 m 除以 c1、v 除以 c2",
    ),
    "coupled": (
        "the decay was added to the gradient. That is Adam with L2; AdamW takes lr * decay * p from the weight itself",
        "衰减加进了梯度。那是 Adam 加 L2；AdamW 直接从权重里减去 lr * decay * p",
    ),
    "eps-inside": ("EPS is added under the root. Add it outside", "EPS 写在了根号里面，应该加在根号外面"),
    "stale": (
        "the step uses the moments of the step before. Update m and v first",
        "这一步用的是上一步的矩。请先更新 m 和 v",
    ),
    "decay-after": (
        "the decay multiplies the new weight. It belongs to the old one, so that the step itself is not decayed",
        "衰减乘在了新的权重上。它应该乘旧的权重，这一步的更新量不衰减",
    ),
    "not-squared": ("v averages the gradient and not its square", "v 平均的是梯度，而不是梯度的平方"),
}


def which(failure):
    """The mistake that explains every element of this output."""
    for mistake, (en, zh) in SAYS.items():
        with np.errstate(all="ignore"):
            would = step(**failure.inputs, mistake=mistake)[failure.name]
        same = np.abs(failure.got - would) <= 1e-5 * (1 + np.abs(would))
        if (same | (np.isnan(failure.got) & np.isnan(would))).all():
            i = int(np.argmax(failure.wrong))
            values = {"name": failure.name, "i": i, "got": f"{failure.got[i]:.6g}", "want": f"{failure.want[i]:.6g}"}
            head = "{size}: {name}[{i}] is {got}, expected {want}: "
            return Cause(
                mistake,
                values,
                {"en": head + en, "zh": "{size}：{name}[{i}] 是 {got}，应为 {want}：" + zh},
                "training-tricks#adamw",
            )
    return None


exercise = Exercise(
    kernel="void adamw(float* p, const float* g, float* m, float* v, float lr, float decay, float c1, float c2, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=step,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    roundings=8,
    scale=scale,
    causes=(which,),
    budget=Budget(
        at=1 << 14, sectors_per_load=4.0, sectors_per_store=4.0, bytes_loaded=16 << 14, bytes_stored=12 << 14
    ),
)
