"""The gradient that comes to a tied embedding through the input: rows of the same token are added up."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 64


def inputs(random, rows, tokens, d):
    ids = random.generator.integers(0, tokens, rows)
    begin = np.r_[0, np.bincount(ids, minlength=tokens).cumsum()]
    return {
        "dx": random.floats((rows, d)),
        "order": np.argsort(ids, kind="stable").astype(np.int32),
        "begin": begin.astype(np.int32),
        "part": random.floats((tokens, d)),
        "d": d,
    }


def added(dx, order, begin, part, d, mistake=""):
    out = np.zeros(part.shape) if mistake == "part-forgotten" else part.astype(np.float64)
    rows = np.arange(len(order)) if mistake == "order-forgotten" else order
    for t in range(len(part)):
        own = rows[begin[t] : begin[t + 1]]
        own = {"counted-once": own[-1:], "first": own[:1], "last-left-out": own[:-1]}.get(mistake, own)
        out[t] += dx[own].astype(np.float64).sum(0)
    return {"dw": out}


def scale(dx, order, begin, part, d):
    return added(np.abs(dx), order, begin, np.abs(part), d)


SAYS = {
    "part-forgotten": (
        "the part that came from the logits is missing. The embedding is used twice, so its gradients add up",
        "缺了从 logit 传来的那一份。嵌入用了两次，两份梯度要相加",
    ),
    "counted-once": (
        "a token that stands in several rows counts once. Add up all its rows",
        "一个 token 出现在好几行，却只算了一行。应该把它的各行都加起来",
    ),
    "order-forgotten": (
        "row k of dx was taken for k. Which row it is stands in order[k]",
        "直接取了 dx 的第 k 行。究竟是哪一行，写在 order[k] 里",
    ),
    "last-left-out": (
        "the last row of each token is missing. The rows go up to begin[t + 1] - 1",
        "每个 token 都少了最后一行。这些行一直到 begin[t + 1] - 1",
    ),
}


def which(failure):
    """The mistake that explains every element."""
    names = ("dx", "order", "begin", "part", "d")
    given = {name: failure.inputs[name] for name in names}
    for mistake, (en, zh) in SAYS.items():
        for how in ("counted-once", "first") if mistake == "counted-once" else (mistake,):
            would = added(**given, mistake=how)["dw"].reshape(failure.got.shape)
            if (np.abs(failure.got - would) <= 1e-4 * (1 + np.abs(would))).all():
                i = int(np.argmax(failure.wrong.ravel()))
                t, c = divmod(i, given["d"])
                values = {"t": t, "c": c, "got": f"{failure.got.ravel()[i]:.6g}"}
                values["want"] = f"{failure.want.ravel()[i]:.6g}"
                text = {
                    "en": "{size}: dw of token {t}, channel {c} is {got}, expected {want}: " + en,
                    "zh": "{size}：dw 中 token {t} 的通道 {c} 是 {got}，应为 {want}：" + zh,
                }
                return Cause(mistake, values, text, "language-model#backward")
    return None


exercise = Exercise(
    kernel="void scatter(const float* dx, const int* order, const int* begin, const float* part, float* dw, int d)",
    sizes=Sizes([(1, 1, 1), (3, 2, 31), (7, 16, 33), (64, 5, 64), (33, 40, 65), (130, 9, 130)]),
    inputs=inputs,
    reference=added,
    launch=lambda rows, tokens, d: Launch(grid=tokens, block=BLOCK),
    roundings=70,
    scale=scale,
    causes=(which,),
    budget=Budget(at=(128, 16, 128), sectors_per_load=4.0, sectors_per_store=4.0, atomics=0),
)
