"""Compaction within tiles of 256: a ballot per warp, one barrier, and the order kept."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256


def inputs(random, n):
    return {"x": random.floats(n), "y": np.full(n, -1, np.float32), "n": n}


def compacted(x, keep):
    y = np.full(x.size, -1.0)
    for i in range(0, x.size, BLOCK):
        chosen = x[i : i + BLOCK][keep[i : i + BLOCK]]
        y[i : i + chosen.size] = chosen
    return y, np.array([keep[i : i + BLOCK].sum() for i in range(0, x.size, BLOCK)])


def reference(x, y, n):
    want, kept = compacted(x, x > 0)
    return {"y": want, "kept": kept}


def zeros_kept(failure):
    x = failure.inputs["x"]
    y, kept = compacted(x, x >= 0)
    if not np.array_equal(failure.got, kept if failure.name == "kept" else y):
        return None
    return Cause(
        "zeros-kept",
        {},
        {"en": "{size}: zeros are kept, and 0 is not above 0", "zh": "{size}：0 也被保留了，而 0 不大于 0"},
    )


def last_not_counted(failure):
    """kept is one too small where the last element of a tile is kept."""
    if failure.name != "kept" or not (failure.got[failure.wrong] + 1 == failure.want[failure.wrong]).all():
        return None
    return Cause(
        "last-not-counted",
        {"b": int(np.argmax(failure.wrong))},
        {
            "en": "{size}: kept[{b}] is one too small: the place of the last element is the number before it, "
            "and it is kept itself",
            "zh": "{size}：kept[{b}] 少了一个：最后一个元素的位置是它之前的个数，它自己也被保留了",
        },
    )


def order_lost(failure):
    """Each tile has the right elements in front, in another order."""
    if failure.name != "y":
        return None
    for i in range(0, failure.got.size, BLOCK):
        if not np.array_equal(np.sort(failure.got[i : i + BLOCK]), np.sort(failure.want[i : i + BLOCK])):
            return None
    return Cause(
        "order-lost",
        {"i": int(np.argmax(failure.wrong))},
        {
            "en": "{size}: from y[{i}] on, the right elements stand in another order than in x: which thread "
            "increments a counter first is not defined, so take the place from the number of kept elements before it",
            "zh": "{size}：从 y[{i}] 起，元素都对，但顺序与 x 中不同："
            "哪个线程先给计数器加一是不确定的，位置应当取它之前保留的个数",
        },
    )


exercise = Exercise(
    kernel="void keep(const float* x, float* y, int* kept, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    causes=(zeros_kept, last_not_counted, order_lost),
    budget=Budget(at=1 << 12, instructions_per_warp=120, barriers_per_warp=2, bytes_loaded=4 << 12),
)
