"""Sort eight numbers per thread: with constant indices the array stays in registers."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK, ITEMS = 128, 8
AT = 1 << 12


def inputs(random, n):
    return {"x": random.integers((ITEMS, n), -999, 1000, np.int32), "n": n}


def reference(x, n):
    return {"y": np.sort(x, axis=0)}


def largest_first(failure):
    """Every column is sorted, the wrong way round."""
    if not np.array_equal(failure.got, failure.want[::-1]):
        return None
    return Cause(
        "largest-first",
        {},
        {
            "en": "{size}: each column has its largest number first; the smallest belongs in row 0",
            "zh": "{size}：每一列都是从大到小；最小的数应当在第 0 行",
        },
    )


def value_lost(failure):
    """A column has a number of its own more often than the input has it, instead of another one."""
    changed = (np.sort(failure.got, axis=0) != failure.want).any(axis=0)
    for c in np.flatnonzero(changed):
        if not np.isin(failure.got[:, c], failure.want[:, c]).all():
            return None
    if not changed.any():
        return None
    c = int(np.argmax(changed))
    values, counts = np.unique(failure.got[:, c], return_counts=True)
    before = [int((failure.want[:, c] == value).sum()) for value in values]
    more = int(np.argmax(counts - before))
    return Cause(
        "value-lost",
        {"c": c, "value": int(values[more]), "times": int(counts[more]), "before": before[more]},
        {
            "en": "{size}: column {c} has the number {value} {times} times and had it {before} times: to exchange two "
            "numbers, take the minimum and the maximum of both before you overwrite either",
            "zh": "{size}：第 {c} 列里 {value} 出现了 {times} 次，原来是 {before} 次："
            "交换两个数时，先求出两者的最小值和最大值，再覆盖其中任何一个",
        },
    )


def not_sorted(failure):
    """Each column has its own numbers, in another order."""
    if not np.array_equal(np.sort(failure.got, axis=0), failure.want):
        return None
    falls = failure.got[1:] < failure.got[:-1]
    c = int(np.argmax(falls.any(axis=0)))
    r = int(np.argmax(falls[:, c]))
    return Cause(
        "not-sorted",
        {"c": c, "r": r, "a": int(failure.got[r, c]), "b": int(failure.got[r + 1, c]), "next": r + 1},
        {
            "en": "{size}: column {c} has the right numbers, but {a} in row {r} stands before {b} in row {next}: "
            "comparisons are missing, or stand in the wrong order",
            "zh": "{size}：第 {c} 列的数都对，但第 {r} 行的 {a} 排在第 {next} 行的 {b} 之前："
            "少了几次比较，或者比较的次序不对",
        },
    )


exercise = Exercise(
    kernel="void sort_columns(const int* x, int* y, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    causes=(largest_first, value_lost, not_sorted),
    budget=Budget(at=AT, instructions_per_warp=130, bytes_loaded=32 * AT, bytes_stored=32 * AT),
)
