"""The parts of a row's attention, each over some of the keys, merged into its output; a part may have seen no key."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 128


def inputs(random, parts, rows, d):
    """Three of five rows are near 0, far up and far down; one has empty parts, one has no others."""
    g, kind = random.generator, np.arange(rows) % 5
    m = 4 * g.standard_normal((parts, rows)) + np.select([kind == 1, kind == 2], [1e4, -1e4], 0)
    some = g.random((parts, rows)) < 0.3
    some[0], some[-1] = True, False
    empty = (kind == 4) | (kind == 3) & some
    s = 1 + 20 * g.random((parts, rows))
    o = s[:, :, None] * g.standard_normal((parts, rows, d))
    return {
        "m": np.where(empty, -np.inf, m).astype(np.float32),
        "s": np.where(empty, 0, s).astype(np.float32),
        "o": np.where(empty[:, :, None], 0, o).astype(np.float32),
        "parts": parts,
        "rows": rows,
        "d": d,
    }


def factors(m):
    """exp(m - the row's largest m) in float64; 0 for what is empty."""
    wide = m.astype(np.float64)
    top = wide.max(axis=0)
    return np.exp(wide - np.where(np.isfinite(top), top, 0))


def quotient(weights, s, o):
    """The sum of weighted o over the sum of weighted s; 0 where nothing has been seen."""
    total = (weights * s).sum(axis=0)
    return (weights[:, :, None] * o).sum(axis=0) / np.where(total > 0, total, 1)[:, None]


def reference(m, s, o, parts, rows, d):
    return {"out": quotient(factors(m), s, o.astype(np.float64))}


def scale(m, s, o, parts, rows, d):
    """Roundings of out: one per part in each sum, a few in factor and quotient, and each difference m - top rounds."""
    top = np.where(np.isfinite(m.max(axis=0)), m.max(axis=0), 0)
    down = (top - np.where(np.isfinite(m), m.astype(np.float64), top)).max(axis=0)
    return {"out": quotient(factors(m), s, np.abs(o.astype(np.float64))) * (3 + parts / 2 + down)[:, None]}


def wrong_weights(failure):
    """The outputs are another average of the parts."""
    m, s, o = failure.inputs["m"], failure.inputs["s"].astype(np.float64), failure.inputs["o"].astype(np.float64)
    f, seen = factors(m), s > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        upside_down = quotient(1 / f, s, o)
    means = o / np.where(seen, s, 1)[:, :, None]
    others = {
        "not-restated": quotient(np.ones(m.shape), s, o),
        "s-not-restated": (f[:, :, None] * o).sum(axis=0) / np.where(s.sum(axis=0) > 0, s.sum(axis=0), 1)[:, None],
        "plain-average": means.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)[:, None],
        "averaged-over-all": means.mean(axis=0),
        "without-s": (f[:, :, None] * means).sum(axis=0) / np.maximum(f.sum(axis=0), 1e-300)[:, None],
        "not-divided": (f[:, :, None] * o).sum(axis=0),
        "upside-down": upside_down,
    }
    rows = failure.wrong.any(axis=1)
    for name, other in others.items():
        if np.allclose(np.nan_to_num(failure.got[rows]), np.nan_to_num(other[rows]), rtol=1e-3, atol=1e-5):
            cause = "plain-average" if name == "averaged-over-all" else name
            return Cause(cause, {"r": int(np.argmax(rows))}, SENTENCES[cause], "flash-attention#merge")
    return None


SENTENCES = {
    "not-restated": {
        "en": "{size}: row {r} is the sum of o over the sum of s. Each part refers to its own maximum: "
        "multiply its s and its o by exp(its m - the largest m) before you add",
        "zh": "{size}：第 {r} 行等于 o 之和除以 s 之和。各部分是相对于自己的最大值算的："
        "相加之前，要先把 s 和 o 乘以 exp(自己的 m - 最大的 m)",
    },
    "s-not-restated": {
        "en": "{size}: in row {r} the sums of values are restated for the common maximum, and the sums s are not",
        "zh": "{size}：第 {r} 行的 o 换算到了共同的最大值，s 却没有换算",
    },
    "plain-average": {
        "en": "{size}: row {r} is the plain average of the parts' own outputs o / s. "
        "A part with larger scores has a larger weight",
        "zh": "{size}：第 {r} 行是各部分输出 o / s 的算术平均。分数更大的部分，权重应当更大",
    },
    "without-s": {
        "en": "{size}: row {r} averages the outputs o / s with weights exp(m - the largest m). "
        "The weight of a part is that factor times its s",
        "zh": "{size}：第 {r} 行以 exp(m - 最大的 m) 为权对各部分的输出 o / s 取了平均。一个部分的权重应当再乘以它的 s",
    },
    "upside-down": {
        "en": "{size}: row {r} comes out as if each part were multiplied by exp(the largest m - its m). "
        "It is the other way round: the factor is at most 1",
        "zh": "{size}：第 {r} 行的结果，相当于每个部分乘了 exp(最大的 m - 自己的 m)。方向反了：这个因子不超过 1",
    },
    "not-divided": {
        "en": "{size}: row {r} is not divided by the merged sum of s",
        "zh": "{size}：第 {r} 行没有除以合并后的 s",
    },
}


def nothing_seen(failure):
    """NaN in the rows all of whose parts are empty, and only there."""
    none = ~(failure.inputs["s"] > 0).any(axis=0)
    rows = failure.wrong.any(axis=1)
    if not none[rows].all() or np.isfinite(failure.got[rows]).all():
        return None
    return Cause(
        "nothing-seen",
        {"r": int(np.argmax(rows))},
        {
            "en": "{size}: row {r} is NaN. None of its parts has seen a key: -infinity - (-infinity) is NaN, "
            "and so is 0 / 0. Write zeros there",
            "zh": "{size}：第 {r} 行是 NaN。它的各部分一个键也没有看到：-∞ - (-∞) 是 NaN，0 / 0 也是。这样的行应当写零",
        },
        "attention#masks",
    )


def empty_part(failure):
    """NaN in rows of which some part is empty, and in no row without one."""
    some = ~(failure.inputs["s"] > 0).all(axis=0)
    bad = ~np.isfinite(failure.got).all(axis=1)
    if not bad.any() or not some[bad].all() or failure.wrong.any(axis=1)[~bad].any():
        return None
    return Cause(
        "empty-part",
        {"r": int(np.argmax(bad))},
        {
            "en": "{size}: row {r} is NaN, and it has a part that has seen no key, with m = -infinity. "
            "Is -infinity subtracted from -infinity, or 0 multiplied by infinity?",
            "zh": "{size}：第 {r} 行是 NaN，它有一个部分没有看到任何键，m = -∞。是不是两个 -∞ 相减，或者 0 乘了 ∞？",
        },
        "flash-attention#merge",
    )


def far_maximum(failure):
    """Rows that are not finite, or 0, all of whose maxima are far from zero."""
    top = failure.inputs["m"].max(axis=0)
    rows = failure.wrong.any(axis=1)
    near = np.abs(top) < 80
    if near[rows].any() or not np.isin(np.nan_to_num(failure.got[rows], posinf=0, neginf=0), 0).all():
        return None
    r = int(np.argmax(rows))
    return Cause(
        "far-maximum",
        {"r": r, "top": f"{top[r]:.7g}"},
        {
            "en": "{size}: row {r}, whose largest m is {top}, is wrong, as are all rows so far from 0. "
            "Only differences of m may be raised to a power, and the largest m must start with the lowest number",
            "zh": "{size}：第 {r} 行最大的 m 是 {top}，结果错了；凡是离 0 这么远的行都错了。"
            "只能对 m 之差求幂，而且求最大的 m 时，初值要取最小的数",
        },
        "softmax#softmax",
    )


exercise = Exercise(
    kernel="void merge(const float* m, const float* s, const float* o, float* out, int parts, int rows, int d)",
    sizes=Sizes([(1, 1, 1), (1, 3, 32), (2, 7, 33), (3, 5, 128), (2, 9, 64), (4, 9, 129), (7, 11, 64), (16, 6, 257)]),
    inputs=inputs,
    reference=reference,
    launch=lambda parts, rows, d: Launch(grid=rows, block=BLOCK),
    roundings=4,
    scale=scale,
    causes=(nothing_seen, empty_part, wrong_weights, far_maximum),
    budget=Budget(at=(8, 32, 128), sectors_per_load=4.0, bytes_loaded=300_000, instructions_per_warp=1200),
)
