"""Partition the elements of each warp with a ballot: 32 answers in one instruction, and no barrier."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256


def inputs(random, n):
    return {"x": random.floats(n), "n": n}


def reference(x, n):
    parts = [x[i : i + 32].astype(np.float64) for i in range(0, n, 32)]
    y = np.concatenate([np.concatenate([part[part > 0], part[~(part > 0)]]) for part in parts])
    return {"y": y, "positive": np.array([(part > 0).sum() for part in parts])}


def zeros_counted(failure):
    """Zeros at the front, or counted among the positive."""
    x = failure.inputs["x"]
    parts = [x[i : i + 32] for i in range(0, x.size, 32)]
    counts = [int((part >= 0).sum()) for part in parts]
    fronts = np.concatenate([np.concatenate([part[part >= 0], part[part < 0]]) for part in parts])
    if not np.array_equal(failure.got, counts if failure.name == "positive" else fronts):
        return None
    return Cause(
        "zeros-counted",
        {},
        {
            "en": "{size}: zeros are treated as positive; 0 and -0 belong behind",
            "zh": "{size}：把 0 当成了正数；0 和 -0 都应排在后面",
        },
    )


def others_counted(failure):
    """The number of those that are not above 0."""
    count = failure.inputs["x"].size
    sizes_of_warps = np.diff([*range(0, count, 32), count])
    rest = failure.got + failure.want
    if failure.name != "positive" or not ((rest == 32) | (rest == sizes_of_warps))[failure.wrong].all():
        return None
    return Cause(
        "others-counted",
        {"w": int(np.argmax(failure.wrong))},
        {
            "en": "{size}: positive[{w}] is the number of the other elements, those that are not above 0",
            "zh": "{size}：positive[{w}] 是另一类元素（不大于 0 的）的个数",
        },
    )


def order_lost(failure):
    """Each warp has the right elements in front, in another order."""
    count = failure.inputs["x"].size
    if failure.name != "y":
        return None
    for i in range(0, count, 32):
        got, want = failure.got[i : i + 32], failure.want[i : i + 32]
        if not np.array_equal(np.sort(got), np.sort(want)) or ((got > 0) != (want > 0)).any():
            return None
    return Cause(
        "order-lost",
        {"i": int(np.argmax(failure.wrong))},
        {
            "en": "{size}: from y[{i}] on, elements stand on the right side, but in another order than in x: "
            "an element's place is the number of its kind in the lanes before it",
            "zh": "{size}：从 y[{i}] 起，元素归对了类，但顺序与 x 中不同："
            "元素的位置由编号更小的 lane 中同类元素的个数决定",
        },
    )


exercise = Exercise(
    kernel="void partition(const float* x, float* y, int* positive, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    causes=(zeros_counted, others_counted, order_lost),
    budget=Budget(at=1 << 12, instructions_per_warp=100, bytes_loaded=4 << 12, barriers_per_warp=0),
)
