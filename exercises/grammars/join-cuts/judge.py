"""The inner step of CYK: a warp per cell, a lane per cut, one lookup for all rules, and the union of 32 lanes."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK, WARP = 256, 32
PER_BLOCK = BLOCK // WARP
AT = (512, 256)


def inputs(random, n, cuts):
    few = random.integers(1 << 16, 0, 47, "int32")
    both = np.where(few < 8, 1 << few % 8, 0).astype(
        np.uint8
    )  # a sixth of the pairs gives one variable, the others none
    left, right = (random.integers(n * cuts, 0, 255, "int32") for _ in range(2))
    return {"both": both, "left": left, "right": right, "n": n, "cuts": cuts}


def joined(both, left, right, n, cuts):
    """Of each cell and cut what its two parts give."""
    return both[left << 8 | right].reshape(n, cuts)


def union(sets):
    return np.bitwise_or.reduce(sets, axis=1)


def reference(both, left, right, n, cuts):
    return {"sets": union(joined(both, left, right, n, cuts))}


def first_wrong(failure):
    return {"c": int(np.argmax(failure.wrong))}


def exchanged(failure):
    """The right part stands in front."""
    given = failure.inputs
    swapped = joined(given["both"], given["right"], given["left"], given["n"], given["cuts"])
    if not np.array_equal(failure.got, union(swapped)):
        return None
    return Cause(
        "parts-exchanged",
        first_wrong(failure),
        {
            "en": "{size}: left and right are exchanged, for example in cell {c}: the pair is left << 8 | right, and "
            "A → B C is another rule than A → C B",
            "zh": "{size}：左右两段弄反了，例如第 {c} 格：一对集合是 left << 8 | right，"
            "A → B C 与 A → C B 是不同的规则",
        },
    )


def some_lanes(failure):
    """Only the cuts of one lane, or those up to the last full 32, are there."""
    given = failure.inputs
    sets = joined(**given)
    cuts = given["cuts"]
    variants = {
        "last-cut-missing": sets[:, :-1],
        "first-cut-missing": sets[:, 1:],
        "last-cuts-missing": sets[:, : cuts // WARP * WARP],
        "first-32": sets[:, :WARP],
        "one-lane": sets[:, ::WARP],
    }
    what = next((name for name, kept in variants.items() if np.array_equal(failure.got, union(kept))), None)
    if what is None:
        return None
    said = {
        "one-lane": (
            "has only the cuts of lane 0: the sets of all 32 lanes must be united before one lane stores",
            "只有 lane 0 那些切分：要先把 32 个 lane 的集合并起来，再由一个 lane 存储",
        ),
        "first-32": (
            "has only its first 32 cuts: a lane takes every 32nd cut",
            "只有前 32 种切分：每个 lane 每隔 32 种取一种",
        ),
        "last-cuts-missing": (
            "lacks the cuts after the last full group of 32",
            "漏掉了最后不满 32 种的切分",
        ),
        "last-cut-missing": ("lacks its last cut", "漏掉了最后一种切分"),
        "first-cut-missing": ("lacks its first cut: cuts are numbered from 0", "漏掉了第一种切分：切分从 0 开始编号"),
    }[what]
    return Cause(
        what,
        first_wrong(failure),
        {"en": "{size}: cell {c} " + said[0], "zh": "{size}：第 {c} 格" + said[1]},
    )


def not_a_union(failure):
    """Sets were added, or intersected, in place of being united."""
    sets = joined(**failure.inputs)
    if np.array_equal(failure.got, sets.sum(axis=1).astype(np.int32)):
        how = (
            "added: two cuts that give the same variable carry into the next bit",
            "相加了：两种切分给出同一个变元时，会进位到下一位",
        )
    elif np.array_equal(failure.got, np.bitwise_xor.reduce(sets, axis=1)):
        how = (
            "combined by ^: two cuts that give the same variable cancel it",
            "按 ^ 合并了：两种切分给出同一个变元时，会互相抵消",
        )
    else:
        return None
    return Cause(
        "not-a-union",
        first_wrong(failure),
        {
            "en": "{size}: the sets of cell {c} are " + how[0] + "; a union is |",
            "zh": "{size}：第 {c} 格的集合" + how[1] + "；并集要用 |",
        },
    )


exercise = Exercise(
    kernel="void join(const int* both, const int* left, const int* right, int* sets, int n, int cuts)",
    sizes=Sizes(  # with fewer cells, one answer looks like another
        [(16, 5), (17, 31), (23, 32), (31, 70), (40, 64), (33, 97), (65, 66), (120, 130)]
    ),
    inputs=inputs,
    reference=reference,
    launch=lambda n, cuts: Launch(grid=-(-n // PER_BLOCK), block=BLOCK),
    causes=(exchanged, some_lanes, not_a_union),
    budget=Budget(at=AT, instructions_per_warp=400, barriers_per_warp=0, atomics=0, bytes_loaded=41 * AT[0] * AT[1]),
)
