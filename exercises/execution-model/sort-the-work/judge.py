"""Work that depends on the data: a block sorts its elements by kind before its warps begin."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256


def scrambled(x, rounds):
    for _ in range(rounds):
        x = x ^ (x << np.uint32(13))
        x = x ^ (x >> np.uint32(17))
        x = x ^ (x << np.uint32(5))
    return x


def inputs(random, n):
    """A quarter of the elements needs more work; in larger arrays one block has no others, and one has none."""
    x = random.integers(n, 4, 2**32 - 1, "uint32")
    if n >= 4 * BLOCK:
        x[:BLOCK] &= np.uint32(0xFFFFFFFC)
        x[BLOCK : 2 * BLOCK] |= np.uint32(1)
    return {"x": x, "n": n}


def reference(x, n):
    return {"y": np.where(x % 4 == 0, scrambled(x, 64), scrambled(x, 4))}


def other_rounds(failure):
    """Elements that were given the other number of rounds."""
    x, bad = failure.inputs["x"], failure.wrong
    swapped = np.where(x % 4 == 0, scrambled(x, 4), scrambled(x, 64))
    if not (failure.got[bad] == swapped[bad]).all():
        return None
    i = int(np.argmax(bad))
    return Cause(
        "other-rounds",
        {"i": i, "right": 64 if x[i] % 4 == 0 else 4, "done": 4 if x[i] % 4 == 0 else 64},
        {
            "en": "{size}: y[{i}] had {done} rounds and needs {right}: the element that a thread takes from the list "
            "decides, not the thread's own",
            "zh": "{size}：y[{i}] 做了 {done} 轮，应做 {right} 轮：轮数由线程从列表里取到的元素决定，"
            "而不是线程编号对应的元素",
        },
    )


def put_at_the_thread(failure):
    """Each block has the right results, in the order of the list."""
    got, want = failure.got, failure.want
    for i in range(0, got.size, BLOCK):
        if not np.array_equal(np.sort(got[i : i + BLOCK]), np.sort(want[i : i + BLOCK])):
            return None
    return Cause(
        "order-of-the-list",
        {"i": int(np.argmax(failure.wrong))},
        {
            "en": "{size}: from y[{i}] on, the results of a block stand in the order of the list: "
            "write each where its element was in x",
            "zh": "{size}：从 y[{i}] 起，线程块的结果是按列表的次序写的：每个结果应当写到它的元素在 x 中的位置",
        },
    )


exercise = Exercise(
    kernel="void scramble(const unsigned* x, unsigned* y, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    causes=(other_rounds, put_at_the_thread),
    budget=Budget(at=1 << 12, instructions_per_warp=340, barriers_per_warp=2),
)
