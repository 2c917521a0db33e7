"""A softmax under a causal mask: row i sees columns 0 to i, and what it does not see it does not load."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 256


def inputs(random, n):
    """Of four rows, one has hidden scores far above the visible ones, one is far up, one far down, one near 0."""
    kind = np.arange(n)[:, None] % 4
    x = 3 * random.generator.standard_normal((n, n)) + np.select([kind == 1, kind == 2], [1e4, -1e4], 0)
    return {"x": (x + np.where((kind == 0) & ~triangle(n), 500, 0)).astype(np.float32), "n": n}


def softmax(x, seen):
    """The softmax of each row over the columns that it sees; NaN in a row that sees none."""
    wide = np.where(seen, x.astype(np.float64), -np.inf)
    top = wide.max(axis=1, keepdims=True)
    e = np.where(seen, np.exp(wide - np.where(np.isfinite(top), top, 0)), 0)
    with np.errstate(invalid="ignore"):
        return e / e.sum(axis=1, keepdims=True)


def triangle(n, diagonal=0):
    return np.tri(n, n, diagonal, dtype=bool)


def reference(x, n):
    return {"y": softmax(x, triangle(n))}


def scale(x, n):
    """Roundings of y: at most n in the sum, whatever its order, a few in exponential and quotient, and x - m rounds."""
    seen = triangle(n)
    wide = np.where(seen, x.astype(np.float64), -np.inf)
    down = np.where(seen, wide.max(axis=1, keepdims=True) - np.where(seen, wide, 0), 0)
    return {"y": softmax(x, seen) * (2 + n / 4 + down)}


def wrong_mask(failure):
    """The rows that come out wrong are a softmax under another mask."""
    x = failure.inputs["x"]
    n, full = len(x), np.ones(x.shape, bool)
    masks = {
        "not-renormalised": np.where(triangle(n), softmax(x, full), 0),
        "not-masked": softmax(x, full),
        "diagonal-hidden": softmax(x, triangle(n, -1)),
        "next-seen": softmax(x, triangle(n, 1)),
        "mask-transposed": softmax(x, triangle(n).T),
    }
    if not failure.got[0].any():
        masks["diagonal-hidden"][0] = 0  # a row that sees nothing is NaN, or 0
    rows = failure.wrong.any(axis=1)
    for name, other in masks.items():
        if np.allclose(failure.got[rows], other[rows], rtol=1e-3, atol=1e-6, equal_nan=True):
            return Cause(name, {"r": int(np.argmax(rows))}, SENTENCES[name], "attention#masks")
    return None


SENTENCES = {
    "not-renormalised": {
        "en": "{size}: row {r} does not sum to one. The hidden weights were set to 0, but they are still in the sum: "
        "leave them out before you add",
        "zh": "{size}：第 {r} 行的总和不是 1。被遮住的权重虽然写成了 0，却还算在总和里：求和之前就应当排除",
    },
    "not-masked": {
        "en": "{size}: row {r} is the softmax of the whole row. It may see columns 0 to {r} only",
        "zh": "{size}：第 {r} 行是整行的 softmax，而它只能看到第 0 列到第 {r} 列",
    },
    "diagonal-hidden": {
        "en": "{size}: row {r} does not see its own column. It sees columns 0 to {r}, {r} included",
        "zh": "{size}：第 {r} 行没有看到自己那一列。它应当看到第 0 列到第 {r} 列，含第 {r} 列",
    },
    "next-seen": {
        "en": "{size}: row {r} sees one column too many. It sees columns 0 to {r}",
        "zh": "{size}：第 {r} 行多看了一列。它应当看到第 0 列到第 {r} 列",
    },
    "mask-transposed": {
        "en": "{size}: row {r} sees column {r} and those after it. It should see those before it",
        "zh": "{size}：第 {r} 行看到的是第 {r} 列和它后面的列，而应当是前面的列",
    },
}


def maximum_of_hidden(failure):
    """Rows that are NaN or lose weights, and only such whose hidden scores are far above their visible ones."""
    x = failure.inputs["x"].astype(np.float64)
    seen = triangle(len(x))
    visible = np.where(seen, x, -np.inf).max(axis=1)
    above = np.where(seen, -np.inf, x).max(axis=1) - visible
    rows = failure.wrong.any(axis=1)
    if not (above[rows] > 80).all() or (above[~rows] > 120).any():
        return None
    return Cause(
        "maximum-of-hidden",
        {"r": int(np.argmax(rows)), "above": round(float(above[rows][0]))},
        {
            "en": "{size}: row {r} is wrong, and so are just those rows whose hidden scores are far above the visible "
            "ones, here by {above}. Is the maximum taken over hidden columns, too? Then every visible power is 0",
            "zh": "{size}：第 {r} 行错了；错的恰好都是被遮住的分数远高于可见分数的行，这里高出 {above}。"
            "求最大值时是不是把被遮住的列也算进去了？那样可见的幂全是 0",
        },
        "attention#masks",
    )


def no_maximum(failure):
    """Rows that are not finite, all of them far from zero: nothing was subtracted."""
    x = failure.inputs["x"].astype(np.float64)
    top = np.where(triangle(len(x)), x, -np.inf).max(axis=1)
    rows = failure.wrong.any(axis=1)
    if np.isfinite(failure.got[rows]).all() or not (np.abs(top[rows]) > 80).all():
        return None
    if any((side * top[rows] > 80).any() and (side * top[~rows] > 120).any() for side in (1, -1)):
        return None  # others as far from zero came out right
    return Cause(
        "far-from-zero",
        {"r": int(np.argmax(rows)), "top": f"{top[rows][0]:.7g}"},
        {
            "en": "{size}: row {r}, whose largest visible score is {top}, is wrong, as are all rows so far from 0. "
            "Is the row's own maximum subtracted, and does it start low enough?",
            "zh": "{size}：第 {r} 行的最大可见分数是 {top}，结果错了；凡是离 0 这么远的行都错了。"
            "减去的是该行自己的最大值吗？初值够低吗？",
        },
        "softmax#softmax",
    )


exercise = Exercise(
    kernel="void causal(const float* x, float* y, int n)",
    sizes=Sizes([1, 3, 5, 17, 31, 32, 33, 97, 255, 256, 257, 300]),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=n, block=BLOCK),
    roundings=4,
    scale=scale,
    causes=(wrong_mask, maximum_of_hidden, no_maximum),
    budget=Budget(at=256, bytes_loaded=425_000, instructions_per_warp=420),
)
