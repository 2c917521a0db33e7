"""A gather with indices out of range: the kernel must neither follow them nor stop, but report the first."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256
AT, BAD = 1 << 12, 64  # elements for the budget, and how many of them are bad


def inputs(random, n):
    size = 40 + n % 7
    index = random.integers(n, 0, size - 1, "int32")
    places = random.integers(BAD if n == AT else n // 40 + 1, 0, n - 1, "int32") if n % 4 != 1 else []
    for k, i in enumerate(places):
        index[i] = (size, -1, 2**31 - 1, -(2**31), size + 5, -size)[k % 6]
    return {"table": random.floats(size), "size": size, "index": index, "bad": np.array([n], np.int32), "n": n}


def reference(table, size, index, bad, n):
    good = (index >= 0) & (index < size)
    out = np.where(good, table[np.where(good, index, 0)].astype(np.float64), 0.0)
    return {"out": out, "bad": np.array([n if good.all() else int(np.argmin(good))])}


def misreported(failure):
    """bad[0] names something else than the first element with a bad index."""
    if failure.name != "bad":
        return None
    index = failure.inputs["index"]
    places = np.flatnonzero((index < 0) | (index >= failure.inputs["size"]))
    got, want = int(failure.got[0]), int(failure.want[0])
    known = {
        "index-reported": (
            {int(index[places].min())},
            "that is a bad index itself. Report the place i where it stands",
            "这是越界的索引本身；应当报告它所在的位置 i",
        ),
        "thread-reported": (
            {int((places % BLOCK).min())},
            "that is a number within a block. Report the element's number in the whole array",
            "这是线程块内的编号；应当报告元素在整个数组里的编号",
        ),
        "another-reported": (
            set(places.tolist()),
            "that index is bad, but it is not the first. Threads run in any order: keep the smallest place",
            "这一处的索引确实越界，但不是第一处。线程的先后次序不定，要留下最小的位置",
        ),
    }
    for name, (values, en, zh) in known.items():
        if got in values:
            return Cause(
                name,
                {"got": got, "want": want},
                {
                    "en": f"{{size}}: bad[0] is {{got}}, expected {{want}}: {en}",
                    "zh": f"{{size}}：bad[0] 是 {{got}}，应为 {{want}}：{zh}",
                },
                "programming-model#errors",
            )
    return None


def bad_followed(failure):
    """Only elements with a bad index are wrong: they should be 0."""
    if failure.name != "out":
        return None
    index = failure.inputs["index"]
    bad = (index < 0) | (index >= failure.inputs["size"])
    if (failure.wrong & ~bad).any():
        return None
    i = int(np.argmax(failure.wrong))
    return Cause(
        "bad-followed",
        {"i": i, "index": int(index[i]), "got": f"{failure.got[i]:.6g}"},
        {
            "en": "{size}: out[{i}] is {got}, but index[{i}] = {index} is out of range: such elements must be 0",
            "zh": "{size}：out[{i}] 是 {got}，而 index[{i}] = {index} 越界：这样的元素应当为 0",
        },
        "programming-model#errors",
    )


exercise = Exercise(
    kernel="void gather(const float* table, int size, const int* index, float* out, int* bad, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    causes=(misreported, bad_followed),
    budget=Budget(at=AT, bytes_stored=4 * AT, atomics=BAD),
)
