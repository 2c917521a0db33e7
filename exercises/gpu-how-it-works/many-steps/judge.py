"""Many steps of arithmetic for one trip to memory: the element stays in a register. Whole numbers, so all is exact."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256
AT = 1 << 14


def rounds_of(n):
    """None, one, and up to 40; 32 at the budget's size."""
    return 32 if n >= AT else n * 7 % 41


def inputs(random, n):
    a, c = (int(random.integers(1, 3, 1 << 31, np.uint32)[0]) | 1 for _ in range(2))
    return {"x": random.integers(n, 0, 2**32 - 1, np.uint32), "a": a, "c": c, "rounds": rounds_of(n), "n": n}


def after(x, a, c, rounds):
    for _ in range(max(rounds, 0)):
        x = x * np.uint32(a) + np.uint32(c)
    return x


def reference(x, a, c, rounds, n):
    return {"y": after(x, a, c, rounds)}


def one_round_off(failure):
    given = failure.inputs
    for more in (1, -1):
        if np.array_equal(failure.got, after(given["x"], given["a"], given["c"], given["rounds"] + more)):
            return Cause(
                "one-round-off",
                {"did": given["rounds"] + more, "rounds": given["rounds"]},
                {
                    "en": "{size}: y is x after {did} steps, and rounds is {rounds}",
                    "zh": "{size}：y 是 x 走了 {did} 步的结果，而 rounds 是 {rounds}",
                },
            )
    return None


exercise = Exercise(
    kernel="void advance(const unsigned* x, unsigned* y, unsigned a, unsigned c, int rounds, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    causes=(one_round_off,),
    budget=Budget(at=AT, bytes_loaded=4 * AT, bytes_stored=4 * AT),
)
