"""A ring in each block, moved on step by step: two buffers need one barrier per step, one buffer needs two."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 256


def added(x, steps, ring=BLOCK, neighbour=1, closed=True):
    """Each element plus its neighbour in its ring, `steps` times, modulo 2^32."""
    rows = x.reshape(-1, ring)
    for _ in range(steps):
        other = np.roll(rows, -neighbour, axis=1)
        if not closed:
            other[:, -1] = 0
        rows = rows + other
    return rows.ravel()


def inputs(random, blocks, steps):
    return {"x": random.integers(blocks * BLOCK, 0, 2**32 - 1, "uint32"), "steps": steps}


def reference(x, steps):
    return {"y": added(x, steps)}


def explained(name, sentences, **other):
    """A cause for results that these other rules would give."""

    def cause(failure):
        x, steps = failure.inputs["x"], int(failure.inputs["steps"])
        rule = {"steps": steps, **other}
        rule["steps"] = max(0, steps + rule.pop("late", 0))
        if not np.array_equal(failure.got, added(x, **rule)):
            return None
        return Cause(name, {"i": int(np.argmax(failure.wrong)), "steps": rule["steps"]}, sentences)

    return cause


CAUSES = (
    explained(
        "one-step-short",
        {
            "en": "{size}: y holds the numbers after {steps} steps: after the last step they stand in the other buffer",
            "zh": "{size}：y 里是 {steps} 步之后的数：最后一步的结果在另一个缓冲区里",
        },
        late=-1,
    ),
    explained(
        "other-neighbour",
        {
            "en": "{size}: y[{i}] was made with the neighbour before it; the task adds the one after it",
            "zh": "{size}：y[{i}] 加的是前一个邻居，应当加后一个",
        },
        neighbour=-1,
    ),
    explained(
        "open-ring",
        {
            "en": "{size}: y[{i}] is wrong: a block's last element has a neighbour, too, the block's first one",
            "zh": "{size}：y[{i}] 不对：线程块的最后一个元素也有邻居，就是本块的第一个元素",
        },
        closed=False,
    ),
    explained(
        "ring-of-a-warp",
        {
            "en": "{size}: y[{i}] is wrong: every warp closes a ring of 32 elements; the ring of a block has 256",
            "zh": "{size}：y[{i}] 不对：每个线程束自成一个 32 个元素的环，而线程块的环有 256 个",
        },
        ring=32,
    ),
)

exercise = Exercise(
    kernel="void relax(const unsigned* x, unsigned* y, int steps)",
    sizes=Sizes([(1, 0), (1, 1), (1, 2), (2, 3), (3, 5), (2, 8), (7, 9), (4, 31)]),
    inputs=inputs,
    reference=reference,
    launch=lambda blocks, steps: Launch(grid=blocks, block=BLOCK),
    causes=CAUSES,
    budget=Budget(at=(8, 16), barriers_per_warp=16, bank_conflicts=0, sectors_per_load=4, sectors_per_store=4),
)
