"""Scale a gradient by the global norm, whose square is spread over partial sums of whole numbers."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 256


def inputs(random, n, parts, longer):
    """With `longer` the norm is above the limit, without it below."""
    part = 1 + np.abs(random.whole(parts, 50))
    most = np.float32(np.sqrt(part.astype(np.float64).sum()) * (0.37 if longer else 2.7))
    return {"g": random.floats(n), "part": part, "parts": parts, "most": most, "n": n}


def factor(part, parts, most, n, mistake=""):
    squares = part.astype(np.float64)
    total = squares[:256].sum() if mistake == "parts-left-out" else squares.sum()
    norm = total if mistake == "no-root" else np.sqrt(squares).sum() if mistake == "roots" else np.sqrt(total)
    if mistake == "own-part":
        norm = np.sqrt(squares[np.arange(n) // BLOCK % parts])
    return most / norm if mistake == "no-limit" else np.minimum(1.0, most / norm)


def reference(g, part, parts, most, n):
    return {"g": g.astype(np.float64) * factor(part, parts, np.float64(most), n)}


SAYS = {
    "no-limit": (
        "gradients whose norm is below the limit are made longer. The factor is at most 1",
        "范数没有超过上限的梯度被放大了。因子至多是 1",
    ),
    "own-part": (
        "each block uses a part of its own. The norm is one number for all gradients: the root of the sum of all parts",
        "每个线程块只用了自己的那一份。范数是所有梯度共用的一个数：全部部分和相加再开方",
    ),
    "no-root": ("the sum of squares is the square of the norm. Take its root", "平方和是范数的平方，还要开方"),
    "roots": (
        "the parts' norms were added. Add their squares, then take one root",
        "把各部分的范数相加了。应该先加平方，最后只开一次方",
    ),
    "parts-left-out": (
        "only the first 256 parts were added. Let each thread take every 256th",
        "只加了前 256 份。每个线程应该每隔 256 份取一份",
    ),
}


def which(failure):
    """The mistake that explains every element."""
    given = {name: failure.inputs[name] for name in ("part", "parts", "most", "n")}
    g = failure.inputs["g"].astype(np.float64)
    for mistake, (en, zh) in SAYS.items():
        would = g * factor(**given, mistake=mistake)
        if (np.abs(failure.got - would) <= 1e-5 * (1e-30 + np.abs(would))).all():
            i = int(np.argmax(failure.wrong))
            values = {"i": i, "got": f"{failure.got[i]:.6g}", "want": f"{failure.want[i]:.6g}"}
            return Cause(
                mistake,
                values,
                {
                    "en": "{size}: g[{i}] is {got}, expected {want}: " + en,
                    "zh": "{size}：g[{i}] 是 {got}，应为 {want}：" + zh,
                },
                "training-tricks#clip",
            )
    return None


exercise = Exercise(
    kernel="void clip(float* g, const float* part, int parts, float most, int n)",
    sizes=Sizes(
        [(1, 1, 1), (31, 1, 0), (256, 2, 1), (300, 7, 1), (1000, 255, 0), (257, 256, 1), (513, 257, 1), (1500, 600, 1)]
    ),
    inputs=inputs,
    reference=reference,
    launch=lambda n, parts, longer: Launch(grid=-(-n // BLOCK), block=BLOCK),
    roundings=6,
    causes=(which,),
    budget=Budget(at=(1 << 12, 512, 1), sectors_per_load=4.0, instructions_per_warp=400),
)
