"""The place of the largest element: a reduction of pairs, whose operation must know what to do with equals."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256
AT = 1 << 14


def inputs(random, n):
    spread = 5 if n % 2 else 2**31 - 1  # many equals, or hardly any; the smallest int is among the elements
    data = random.integers(n, -spread - 1, -1 if n % 3 == 0 else spread, np.int32)
    data[:: 7 if n % 5 else 1] = -(2**31)
    return {"data": data, "n": n}


def places(data, last=False):
    parts = [data[b : b + BLOCK] for b in range(0, data.size, BLOCK)]
    return np.array(
        [BLOCK * b + (p.size - 1 - np.argmax(p[::-1]) if last else np.argmax(p)) for b, p in enumerate(parts)]
    )


def reference(data, n):
    return {"where": places(data).astype(np.int32)}


def last_of_equals(failure):
    data, got = failure.inputs["data"], failure.got
    if not ((got >= 0) & (got < data.size)).all() or not (data[got] == data[failure.want]).all():
        return None
    b = int(np.argmax(got != failure.want))
    return Cause(
        "another-of-equals",
        {"b": b, "got": int(got[b]), "want": int(failure.want[b]), "value": int(data[got[b]])},
        {
            "en": "{size}: where[{b}] is {got}, and element {want} is as large: both are {value}. Of equal elements "
            "the first is wanted, so the smaller index must win, whichever side it comes from",
            "zh": "{size}：where[{b}] 是 {got}，而下标 {want} 的元素一样大：都是 {value}。相等时要取最前面的，"
            "所以无论来自哪一侧，都应当是较小的下标胜出",
        },
        "reduction#tree",
    )


def within_the_block(failure):
    if not np.array_equal(failure.got, failure.want % BLOCK):
        return None
    return Cause(
        "within-the-block",
        {},
        {
            "en": "{size}: each index counts from the beginning of its block; it should count from the "
            "beginning of data",
            "zh": "{size}：下标都从各自线程块的开头数起，应当从 data 的开头数起",
        },
    )


def beyond_the_end(failure):
    beyond = failure.got >= failure.inputs["n"]
    if not beyond.any():
        return None
    b = int(np.argmax(beyond))
    return Cause(
        "beyond-the-end",
        {"b": b, "got": int(failure.got[b]), "n": failure.inputs["n"]},
        {
            "en": "{size}: where[{b}] is {got}, and data has {n} elements: what a lane without an element brings must "
            "lose against every element, the smallest int included",
            "zh": "{size}：where[{b}] 是 {got}，而 data 只有 {n} 个元素：没有元素的 lane 提供的值，"
            "必须输给任何元素，包括最小的 int",
        },
        "reduction#v5",
    )


exercise = Exercise(
    kernel="void where_largest(const int* data, int* where, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    causes=(beyond_the_end, last_of_equals, within_the_block),
    budget=Budget(at=AT, bytes_loaded=4 * AT, barriers_per_warp=1, instructions_per_warp=110),
)
