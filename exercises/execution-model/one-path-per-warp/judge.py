"""Work that differs between elements: which thread takes which decides how many instructions are issued."""

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
    return {"x": random.integers(n, 1, 2**32 - 1, "uint32"), "n": n}


def reference(x, n):
    return {"y": np.where(np.arange(n) % 4 == 0, scrambled(x, 64), scrambled(x, 4))}


def other_rounds(failure):
    """Elements that were given the other number of rounds."""
    x, bad = failure.inputs["x"], failure.wrong
    swapped = np.where(np.arange(x.size) % 4 == 0, scrambled(x, 4), scrambled(x, 64))
    if not (failure.got[bad] == swapped[bad]).all():
        return None
    i = int(np.argmax(bad))
    return Cause(
        "other-rounds",
        {"i": i, "right": 64 if i % 4 == 0 else 4, "done": 4 if i % 4 == 0 else 64},
        {
            "en": "{size}: y[{i}] had {done} rounds and needs {right}. The element's index decides, not the thread's",
            "zh": "{size}：y[{i}] 做了 {done} 轮，应做 {right} 轮。轮数由元素的下标决定，而不是线程的编号",
        },
    )


exercise = Exercise(
    kernel="void scramble(const unsigned* x, unsigned* y, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    causes=(other_rounds,),
    budget=Budget(at=1 << 12, instructions_per_warp=260, sectors_per_load=16, sectors_per_store=16),
)
