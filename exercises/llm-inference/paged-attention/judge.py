"""Attention through a table of pages: which page, which tokens of it, and four warps' parts merged."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

D, PAGE, WARPS = 32, 8, 4


def inputs(random, rows, pages):
    """Lengths from one token to all pages; the pool has pages of nobody, too; some scores are too large for expf."""
    draw = random.generator.standard_normal
    length = random.integers(rows, 1, PAGE * pages).astype(np.int32)
    length[0], length[-1] = 1, PAGE * pages - 3
    used = rows * pages  # the first so many pages are nobody's
    pool, order = 2 * used + 3, used + random.generator.permutation(used + 3)[:used].astype(np.int32)
    order = order.reshape(rows, pages)
    order[np.arange(pages) * PAGE >= length[:, None]] = -1
    q = draw((rows, D)) * np.where(np.arange(rows) % 3 == 1, 60, 1.5)[:, None]
    named = {"q": q.astype(np.float32), "pool": draw((pool, 2, PAGE, D)).astype(np.float32)}
    return named | {"table": order, "length": length, "pages": pages}


def gather(pool, which, table, length):
    """Keys (0) or values (1) of each sequence, one behind the other; a page that is not there counts as page 0."""
    found = zip(table, length, strict=True)
    return [pool[np.maximum(t, 0), which].reshape(-1, D)[:n].astype(float) for t, n in found]


def attend(q, keys, values, merged="restated"):
    """`merged`: how the parts of four warps that take every fourth page become one."""
    out = np.empty((len(q), D))
    for s, (k, v) in enumerate(zip(keys, values, strict=True)):
        scores = k @ q[s].astype(float) / D**0.5
        owner = np.arange(len(k)) // PAGE % WARPS
        tops = np.array([scores[owner == w].max(initial=-np.inf) for w in range(WARPS)])
        own = np.exp(scores - tops[owner])
        right = np.exp(scores - scores.max())
        below, above = {"restated": (right, right), "added": (own, own), "sums": (own, right), "values": (right, own)}[
            merged
        ]
        out[s] = above @ v / below.sum()
    return out


def reference(q, pool, table, length, pages):
    return {"out": attend(q, gather(pool, 0, table, length), gather(pool, 1, table, length))}


def scale(q, pool, table, length, pages):
    """A score is off by a few roundings of its terms, and a weight by that share; the sums add one per key."""
    keys, values = (gather(pool, which, table, length) for which in (0, 1))
    terms = np.array([(np.abs(one) @ np.abs(q[s])).max() / D**0.5 for s, one in enumerate(keys)])
    size = attend(q, keys, [np.abs(one) for one in values])
    return {"out": size * (4 + length / 8 + 3 * terms)[:, None]}


def about_pages(failure):
    g = failure.inputs
    table, n, rows = g["table"], g["length"], len(g["length"])
    pages = table.shape[1]
    wrong, got = failure.wrong.reshape(rows, D).any(1), failure.got.reshape(rows, D)
    up = np.minimum(-(-n // PAGE) * PAGE, pages * PAGE)
    in_place = np.arange(rows * pages).reshape(rows, pages)
    guesses = {
        "table-ignored": (in_place, n, "restated"),
        "first-page-only": (np.repeat(table[:, :1], pages, 1), n, "restated"),
        "another-sequence": (np.repeat(table[:1], rows, 0), n, "restated"),
        "whole-pages": (table, up, "restated"),
        "not-restated": (table, n, "added"),
        "sums-not-restated": (table, n, "sums"),
        "values-not-restated": (table, n, "values"),
    }
    for name, (pages_of, count, merged) in guesses.items():
        keys, values = (gather(g["pool"], which, pages_of, count) for which in (0, 1))
        other = attend(g["q"], keys, values, merged)
        if np.allclose(got, other, rtol=1e-2, atol=1e-3):  # the rows that happen to be right, too
            s = int(np.argmax(wrong))
            about = {"s": s, "n": int(n[s]), "last": int(-(-n[s] // PAGE) - 1), "rest": int((n[s] - 1) % PAGE + 1)}
            section = "llm-inference#v2" if "restated" in name else "llm-inference#pages"
            return Cause(name, about, SENTENCES[name], section)
    return None


SENTENCES = {
    "table-ignored": {
        "en": "{size}: out[{s}] comes from pages in the order of the sequences, as if the cache were contiguous. "
        "The table says where a page is",
        "zh": "{size}：out[{s}] 用的是按序列顺序排列的页，就像缓存是连续的一样。每一页在哪里，要看页表",
    },
    "first-page-only": {
        "en": "{size}: out[{s}] uses the first page of the sequence for all of its {n} tokens. "
        "Every page has its own entry in the table",
        "zh": "{size}：out[{s}] 的 {n} 个 token 全都取自这个序列的第一页。每一页在页表里都有自己的一项",
    },
    "another-sequence": {
        "en": "{size}: out[{s}] uses the pages of sequence 0. The entries of sequence s begin at table[s * pages]",
        "zh": "{size}：out[{s}] 用的是序列 0 的页。序列 s 的表项从 table[s * pages] 开始",
    },
    "whole-pages": {
        "en": "{size}: out[{s}] counts all 8 tokens of page {last}. Only {rest} of them belong to the sequence, "
        "whose length is {n}",
        "zh": "{size}：out[{s}] 把第 {last} 页的 8 个 token 都算进去了。这个序列长 {n}，这一页只有 {rest} 个属于它",
    },
    "not-restated": {
        "en": "{size}: out[{s}] adds up the parts of the warps as they are. Each refers to its own maximum: multiply "
        "by e^(its maximum - the largest) first",
        "zh": "{size}：out[{s}] 直接相加了各线程束的结果。它们是相对各自的最大值算的："
        "要先乘以 e^(自己的最大值 - 总的最大值)",
    },
    "sums-not-restated": {
        "en": "{size}: out[{s}]: the warps' values are restated for the common maximum, and their sums are not",
        "zh": "{size}：out[{s}]：各线程束的加权值换算到了共同的最大值，权重之和却没有",
    },
    "values-not-restated": {
        "en": "{size}: out[{s}]: the warps' sums are restated for the common maximum, and their values are not",
        "zh": "{size}：out[{s}]：各线程束的权重之和换算到了共同的最大值，加权值却没有",
    },
}

exercise = Exercise(
    kernel="void attend(const float* q, const float* pool, const int* table, const int* length, float* out, int pages)",
    sizes=Sizes([(2, 1), (3, 2), (4, 4), (5, 5), (4, 9), (3, 13)]),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, pages: Launch(grid=rows, block=32 * WARPS),
    roundings=4,
    scale=scale,
    causes=(about_pages,),
    budget=Budget(at=(8, 32), bytes_loaded=560_000, instructions_per_warp=4600),
)
