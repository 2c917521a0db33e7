"""The gradient of a batch from the means of its parts, which have different sizes; some parts are empty."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 256


def inputs(random, n, parts):
    """The mean over no token is 0 / 0. At least one part has tokens."""
    count = np.abs(random.whole(parts, 40)).astype(np.int32)
    count[1::3] = 0
    count[0] += 1
    mean = random.floats(parts * n).reshape(parts, n)
    mean[count == 0] = np.nan
    return {"mean": mean.ravel(), "count": count, "parts": parts, "n": n}


def combine(mean, count, parts, n, mistake=""):
    rows, tokens = mean.astype(np.float64).reshape(parts, n), count.astype(np.float64)
    if mistake != "empty-part":
        rows = np.where(tokens[:, None] > 0, rows, 0)
    if mistake == "last-part":
        rows = rows * (np.arange(parts) == parts - 1)[:, None]
    if mistake == "mean-of-means":
        return rows.sum(0) / parts
    if mistake == "mean-of-filled":
        return rows.sum(0) / (tokens > 0).sum()
    if mistake == "whole-quotient":
        tokens = count // count.sum() * count.sum()
    total = parts if mistake == "by-parts" else 1 if mistake == "not-divided" else count.sum()
    return (rows * tokens[:, None]).sum(0) / total


def reference(mean, count, parts, n):
    return {"grad": combine(mean, count, parts, n)}


def scale(mean, count, parts, n):
    return {"grad": combine(np.abs(mean), count, parts, n)}


SAYS = {
    "empty-part": (
        "a part without tokens has the mean 0 / 0, and 0 times NaN is NaN. Leave such a part out",
        "没有 token 的微批，均值是 0 / 0，而 0 乘 NaN 还是 NaN。这样的微批要跳过",
    ),
    "mean-of-means": (
        "every part has the same weight. A part with twice the tokens counts twice",
        "每个微批的权重都一样。token 多一倍的微批，权重也该大一倍",
    ),
    "mean-of-filled": (
        "every part that has tokens has the same weight. A part with twice the tokens counts twice",
        "凡是有 token 的微批，权重都一样。token 多一倍的微批，权重也该大一倍",
    ),
    "whole-quotient": (
        "count[k] / total is a quotient of integers, hence 0 or 1. Divide as float",
        "count[k] / total 是整数除法，结果只能是 0 或 1。请用 float 来除",
    ),
    "by-parts": (
        "the weighted sum is divided by the number of parts. Divide it by the number of tokens",
        "加权和除以了微批的个数，应该除以 token 总数",
    ),
    "not-divided": (
        "the weighted sum is not divided by the number of tokens",
        "加权和没有除以 token 总数",
    ),
    "last-part": (
        "only the last part is left. Add the parts up",
        "只剩下最后一个微批。各个微批要累加起来",
    ),
}


def which(failure):
    """The mistake that explains every element of the output."""
    for mistake, (en, zh) in SAYS.items():
        with np.errstate(all="ignore"):
            would = combine(**failure.inputs, mistake=mistake)
        same = np.abs(failure.got - would) <= 1e-5 * (1e-3 + np.abs(would))
        if (same | (np.isnan(failure.got) & np.isnan(would))).all():
            i = int(np.argmax(failure.wrong))
            return Cause(
                mistake,
                {"i": i, "got": f"{failure.got[i]:.6g}", "want": f"{failure.want[i]:.6g}"},
                {
                    "en": "{size}: grad[{i}] is {got}, expected {want}: " + en,
                    "zh": "{size}：grad[{i}] 是 {got}，应为 {want}：" + zh,
                },
                "training-tricks#others",
            )
    return None


exercise = Exercise(
    kernel="void combine(float* grad, const float* mean, const int* count, int parts, int n)",
    sizes=Sizes([(1, 1), (31, 2), (256, 3), (257, 4), (300, 7), (1000, 12)]),
    inputs=inputs,
    reference=reference,
    launch=lambda n, parts: Launch(grid=-(-n // BLOCK), block=BLOCK),
    roundings=20,
    scale=scale,
    causes=(which,),
    budget=Budget(at=(1 << 12, 8), sectors_per_load=4.0, sectors_per_store=4.0),
)
