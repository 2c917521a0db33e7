"""Dot products in four chains. Only the order of the additions tells four chains from one, so every bit counts.

The inputs are whole numbers whose products are exact in float: a multiplication and an addition round as one FMA does.
"""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 128


def inputs(random, rows, columns):
    most = 4000 if rows > 4 else 1000  # up to four products: exact in any order, since one chain ends as four do
    return {"x": random.whole((rows, columns), most), "y": random.whole(rows, most), "rows": rows, "columns": columns}


def chain(x, y, rows):
    """The sum over these rows, one after the other, in float."""
    total = np.zeros(x.shape[1], np.float32)
    for r in rows:
        total = total + x[r] * y[r]
    return total


def four(x, y, rows):
    return [chain(x, y, range(j, rows, 4)) for j in range(4)]


def reference(x, y, rows, columns):
    s = four(x, y, rows)
    return {"out": ((s[0] + s[1]) + (s[2] + s[3])).astype(np.float64)}


def one_chain(failure):
    x, y, rows = (failure.inputs[name] for name in ("x", "y", "rows"))
    if not np.array_equal(failure.got, chain(x, y, range(rows))):
        return None
    return Cause(
        "one-chain",
        {},
        {
            "en": "{size}: these are the bits of one chain: each product was added to the same sum. "
            "Use four sums, whichever way the loop is unrolled",
            "zh": "{size}：这是一条链的结果，每一位都对得上：所有乘积加到了同一个和里。无论循环怎样展开，都要用四个和",
        },
    )


def rest_left_out(failure):
    x, y, rows = (failure.inputs[name] for name in ("x", "y", "rows"))
    s = four(x, y, rows // 4 * 4)
    if not np.array_equal(failure.got, (s[0] + s[1]) + (s[2] + s[3])):
        return None
    return Cause(
        "rest-left-out",
        {"rest": int(rows % 4)},
        {
            "en": "{size}: the last rows, {rest} of them, were left out: the loop takes four at a time",
            "zh": "{size}：最后 {rest} 行没有算进去：循环每轮处理四行",
        },
    )


def joined_in_a_row(failure):
    x, y, rows = (failure.inputs[name] for name in ("x", "y", "rows"))
    s = four(x, y, rows)
    others = (((s[0] + s[1]) + s[2]) + s[3], (s[0] + s[2]) + (s[1] + s[3]), s[0] + (s[1] + (s[2] + s[3])))
    if not any(np.array_equal(failure.got, other) for other in others):
        return None
    return Cause(
        "joined-otherwise",
        {},
        {
            "en": "{size}: the four sums are right, but they are added in another order than (s0 + s1) + (s2 + s3)",
            "zh": "{size}：四个和都对，但最后相加的次序不是 (s0 + s1) + (s2 + s3)",
        },
    )


def rest_in_one_chain(failure):
    x, y, rows = (failure.inputs[name] for name in ("x", "y", "rows"))
    whole = rows // 4 * 4
    for at in range(4):
        s = four(x, y, whole)
        for r in range(whole, rows):
            s[at] = s[at] + x[r] * y[r]
        after = (s[0] + s[1]) + (s[2] + s[3])
        if np.array_equal(failure.got, after):
            break
    else:
        s = four(x, y, whole)
        after = (s[0] + s[1]) + (s[2] + s[3])
        for r in range(whole, rows):
            after = after + x[r] * y[r]
        if not np.array_equal(failure.got, after):
            return None
    return Cause(
        "rest-in-one-chain",
        {"rest": int(rows - whole)},
        {
            "en": "{size}: the last rows, {rest} of them, went into one sum; each belongs to the sum of its own chain",
            "zh": "{size}：最后 {rest} 行都加到了同一个和里；它们应该各归各的链",
        },
    )


def quarters(failure):
    x, y, rows = (failure.inputs[name] for name in ("x", "y", "rows"))
    part = -(-rows // 4)
    s = [chain(x, y, range(j * part, min(rows, (j + 1) * part))) for j in range(4)]
    if not np.array_equal(failure.got, (s[0] + s[1]) + (s[2] + s[3])):
        return None
    return Cause(
        "quarters",
        {},
        {
            "en": "{size}: each sum has a quarter of the rows that follow one another; "
            "chain j has the rows j, j + 4, j + 8, …",
            "zh": "{size}：每个和取的是连续的四分之一行；第 j 条链应取第 j、j + 4、j + 8… 行",
        },
    )


exercise = Exercise(
    kernel="void dots(const float* x, const float* y, float* out, int rows, int columns)",
    sizes=Sizes([(1, 1), (3, 33), (4, 128), (50, 31), (71, 200), (129, 257)]),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, columns: Launch(grid=-(-columns // BLOCK), block=BLOCK),
    causes=(one_chain, rest_left_out, joined_in_a_row, rest_in_one_chain, quarters),
    budget=Budget(at=(256, 512), sectors_per_load=4.0, sectors_per_store=4.0, instructions_per_warp=1500),
)
