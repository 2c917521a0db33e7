"""A row's maximum and sum of exponentials in one reading: pairs (m, s) are merged like the terms of a sum."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

WARPS = 4  # of a block


def logits(random, rows, n):
    """Rows of several kinds: small, far up, far down, ±1e4 mixed, equal, rising, with one that outweighs all."""
    normal = 3 * random.generator.standard_normal((rows, n))
    rising = np.linspace(-100, 100, n)
    kinds = [
        lambda r: normal[r],
        lambda r: normal[r] + 1e4,
        lambda r: normal[r] - 1e4,
        lambda r: random.generator.uniform(-1e4, 1e4, n),
        lambda r: np.full(n, normal[r, 0]),
        lambda r: rising,
        lambda r: np.where(np.arange(n) == n // 2, 200, normal[r]),
    ]
    first = int(random.generator.integers(len(kinds)))
    return np.array([kinds[(first + r) % len(kinds)](r) for r in range(rows)], np.float32)


def inputs(random, rows, n):
    return {"x": logits(random, rows, n), "rows": rows, "n": n}


def reference(x, rows, n):
    wide = x.astype(np.float64)
    top = wide.max(axis=1)
    return {"top": top, "sum": np.exp(wide - top[:, None]).sum(axis=1)}


def scale(x, rows, n):
    """Roundings of a term of `sum`: n additions and restatements at most, a few in exp, and each difference rounds."""
    down = x.max(axis=1, keepdims=True) - x.astype(np.float64)
    return {"top": np.zeros(rows), "sum": (np.exp(-down) * (10 + n / 4 + down)).sum(axis=1)}


def empty_pair(failure):
    """NaN in every row: an empty pair is merged, and its maximum is -infinity or its factor infinite."""
    if not np.isnan(failure.got).all():
        return None
    return Cause(
        "empty-pair",
        {"n": failure.inputs["x"].shape[1]},
        {
            "en": "{size}: NaN in every row. A pair that has seen no element yet is merged wrongly: "
            "(-infinity) - (-infinity) is NaN, and so is 0 times infinity. Is its maximum finite, "
            "and each factor exp(old m - new m) at most 1?",
            "zh": "{size}：每一行都是 NaN。还没读到元素的那对数合并时出了错：(-∞) - (-∞) 是 NaN，0 乘以 ∞ 也是 NaN。"
            "它的最大值是有限数吗？每个因子都是 exp(旧 m - 新 m)，不超过 1 吗？",
        },
        "softmax#online",
    )


def not_restated(failure):
    """Sums that are too large: terms refer to a maximum that has been replaced since."""
    got, want, bad = failure.got, failure.want, failure.wrong
    if failure.name != "sum" or not (got[bad] > want[bad]).all():
        return None
    r = int(np.argmax(bad))
    return Cause(
        "not-restated",
        {"r": r, "got": f"{got[r]:.7g}", "want": f"{want[r]:.7g}"},
        {
            "en": "{size}: sum[{r}] is {got}, expected {want}: too large. Did some terms stay relative to an earlier, "
            "smaller maximum? When m grows, multiply s by exp(old m - new m)",
            "zh": "{size}：sum[{r}] 是 {got}，应为 {want}，偏大。会不会有些项还是相对于先前较小的最大值算的？"
            "m 变大时，要把 s 乘以 exp(旧 m - 新 m)",
        },
        "softmax#online",
    )


def left_out(failure):
    """Maxima and sums that are too small: not every lane or element took part."""
    got, want, bad = failure.got, failure.want, failure.wrong
    if not np.isfinite(got[bad]).all() or not (got[bad] < want[bad]).all():
        return None
    r = int(np.argmax(bad))
    return Cause(
        "left-out",
        {"name": failure.name, "r": r, "got": f"{got[r]:.7g}", "want": f"{want[r]:.7g}"},
        {
            "en": "{size}: {name}[{r}] is {got}, expected {want}: too small. Some element of the row, "
            "or some lane, was left out",
            "zh": "{size}：{name}[{r}] 是 {got}，应为 {want}，偏小。行中有元素或有 lane 没有算进去",
        },
        "softmax#online",
    )


exercise = Exercise(
    kernel="void row_stats(const float* x, float* top, float* sum, int rows, int n)",
    sizes=Sizes(
        [(1, 1), (9, 1), (1, 2), (8, 3), (7, 17), (9, 31), (8, 32), (9, 33), (16, 97), (14, 256), (17, 519), (13, 1031)]
    ),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, n: Launch(grid=-(-rows // WARPS), block=32 * WARPS),
    roundings=4,
    scale=scale,
    causes=(empty_pair, not_restated, left_out),
    budget=Budget(at=(16, 1024), bytes_loaded=68 << 10, instructions_per_warp=2200),
)
