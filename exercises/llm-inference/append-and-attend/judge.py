"""One decoding step: the new key and value in their place, which keys are seen, sums restated for a rising maximum."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

D = 32


def inputs(random, rows, most):
    """Sequences of all lengths, the shortest and the longest among them; some have scores too large for expf."""
    draw = random.generator.standard_normal
    length = random.integers(rows, 0, most - 1).astype(np.int32)
    length[0], length[-1] = 0, most - 1
    q = draw((rows, D)) * np.where(np.arange(rows) % 3 == 1, 60, 1.5)[:, None]
    k, v = draw((rows, most, D)), draw((rows, most, D))
    named = {"q": q, "kv": draw((rows, 2, D)), "k": k, "v": v}
    return {name: x.astype(np.float32) for name, x in named.items()} | {"length": length, "most": most}


def append(cache, new, length):
    cache = cache.copy()
    cache[np.arange(len(length)), length] = new
    return cache


def attend(q, k, v, count, restate=(1, 1), divide=D**0.5):
    """In float64; `restate`: whether the sum, and the values, follow a rising maximum."""
    out = np.empty((len(q), D))
    for s, n in enumerate(count):
        scores = k[s, :n].astype(float) @ q[s].astype(float) / divide
        tops = np.maximum.accumulate(scores)
        last = scores.max() if n else 0
        against = [last if one else tops for one in restate]
        below, above = (np.exp(scores - one) for one in against)
        out[s] = above @ v[s, :n].astype(float) / max(below.sum(), 1e-300)
    return out


def reference(q, kv, k, v, length, most):
    k, v = append(k, kv[:, 0], length), append(v, kv[:, 1], length)
    return {"k": k.astype(float), "v": v.astype(float), "out": attend(q, k, v, length + 1)}


def scale(q, kv, k, v, length, most):
    """A score is off by a few roundings of its terms, and a weight by that share; the sums add one per key."""
    k, v = append(k, kv[:, 0], length), append(v, kv[:, 1], length)
    terms = np.array([(np.abs(k[s, : n + 1]) @ np.abs(q[s])).max() / D**0.5 for s, n in enumerate(length)])
    size = attend(q, k, np.abs(v), length + 1)
    return {"k": np.zeros_like(k), "v": np.zeros_like(v), "out": size * (4 + length / 8 + 3 * terms)[:, None]}


def about_overflow(failure):
    """Results that are not finite in sequences with a score beyond expf's range, and only there."""
    if failure.name != "out":
        return None
    g = failure.inputs
    k = append(g["k"], g["kv"][:, 0], g["length"])
    tops = np.array([(k[s, : n + 1].astype(float) @ g["q"][s]).max() / D**0.5 for s, n in enumerate(g["length"])])
    bad = ~np.isfinite(failure.got.reshape(len(tops), D)).all(1)
    if not bad.any() or (np.abs(tops[bad]) < 87).any():
        return None
    s = int(np.argmax(bad))
    return Cause("score-overflow", {"s": s, "top": f"{tops[s]:.0f}"}, SENTENCES["overflow"], "softmax#softmax")


def about_keys(failure):
    if failure.name != "out":
        return None
    g = failure.inputs
    n = g["length"]
    k, v = append(g["k"], g["kv"][:, 0], n), append(g["v"], g["kv"][:, 1], n)
    wide = failure.got.reshape(len(n), D)
    wrong = failure.wrong.reshape(len(n), D).any(1)
    guesses = {
        "new-token-unseen": lambda: attend(g["q"], k, v, n),
        "whole-room": lambda: attend(g["q"], k, v, np.full(len(n), g["most"])),
        "not-restated": lambda: attend(g["q"], k, v, n + 1, (0, 0)),
        "values-not-restated": lambda: attend(g["q"], k, v, n + 1, (1, 0)),
        "not-scaled": lambda: attend(g["q"], k, v, n + 1, divide=1),
    }
    for name, guess in guesses.items():
        with np.errstate(all="ignore"):
            other = guess()
        if np.allclose(wide, other, rtol=1e-2, atol=1e-3):  # the rows that happen to be right, too
            s = int(np.argmax(wrong))
            section = "llm-inference#cache" if name in ("new-token-unseen", "whole-room") else "llm-inference#v1"
            return Cause(name, {"s": s, "n": int(n[s])}, SENTENCES[name], section)
    return None


SENTENCES = {
    "overflow": {
        "en": "{size}: out[{s}] is not finite. The largest score of this sequence is {top}; expf is infinite above "
        "88.7 and 0 below -104. Subtract the largest score so far",
        "zh": "{size}：out[{s}] 不是有限值。这个序列最大的分数是 {top}，而 expf 在 88.7 以上是无穷大，"
        "在 -104 以下是 0。请减去目前最大的分数",
    },
    "new-token-unseen": {
        "en": "{size}: out[{s}] is the attention over the {n} old tokens only. A token also sees itself: {n} + 1 keys",
        "zh": "{size}：out[{s}] 只是对 {n} 个旧 token 的注意力。token 也要看到自己：一共 {n} + 1 个键",
    },
    "whole-room": {
        "en": "{size}: out[{s}] attends to every row of the cache. Behind the new token there is what an earlier "
        "sequence left",
        "zh": "{size}：out[{s}] 对缓存的每一行都做了注意力。新 token 之后是以前的序列留下的内容",
    },
    "not-restated": {
        "en": "{size}: out[{s}] adds up terms that refer to different maxima. When the maximum rises, multiply both "
        "sums by e^(old - new)",
        "zh": "{size}：out[{s}] 把相对不同最大值的项加在了一起。最大值升高时，两个总和都要乘以 e^(旧 - 新)",
    },
    "values-not-restated": {
        "en": "{size}: out[{s}]: the sum of the weights follows the rising maximum, and the weighted values do not",
        "zh": "{size}：out[{s}]：权重之和随最大值换算了，加权的值却没有",
    },
    "not-scaled": {
        "en": "{size}: out[{s}] is right for scores that are not divided by the root of 32",
        "zh": "{size}：out[{s}] 与分数没有除以 √32 时的结果一致",
    },
}

exercise = Exercise(
    kernel="void step(const float* q, const float* kv, float* k, float* v, const int* length, float* out, int most)",
    sizes=Sizes([(3, 2), (4, 5), (5, 17), (4, 33), (6, 40), (3, 64)]),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, most: Launch(grid=rows, block=32),
    roundings=4,
    scale=scale,
    causes=(about_overflow, about_keys),
    budget=Budget(at=(16, 256), bytes_loaded=1_100_000, instructions_per_warp=17_500),
)
