"""The sorting step of an FFT, 256 elements per block: reversed bits without bank conflicts and by whole sectors."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

N = 256
REVERSED = np.array([int(f"{j:08b}"[::-1], 2) for j in range(N)])


def inputs(random, lines):
    return {"in": random.floats((lines, N))}


def reference(**inputs):
    return {"out": inputs["in"][:, REVERSED].astype(np.float64)}


def sorted_by(failure, order):
    return np.array_equal(failure.got.reshape(-1, N), failure.inputs["in"][:, order])


def not_sorted(failure):
    if not sorted_by(failure, np.arange(N)):
        return None
    return Cause(
        "not-sorted",
        {},
        {
            "en": "{size}: every element is where it was before. If the bits are reversed on the way in and again on "
            "the way out, nothing is sorted: do it on one side only",
            "zh": "{size}：每个元素都还在原处。写入时倒序一次、读出时又倒序一次，等于没有排序：只在其中一边做",
        },
        "gfnet#butterflies",
    )


def one_side_only(failure):
    """The places of a line permuted, by a swizzle i ^ i >> 3, 4 or 5, on one side only."""
    places = [np.arange(N) ^ np.arange(N) >> shift for shift in (3, 4, 5)]
    for place in places:
        if sorted_by(failure, REVERSED[place]) or sorted_by(failure, REVERSED[np.argsort(place)]):
            return Cause(
                "one-side-only",
                {},
                {
                    "en": "{size}: an element is written to one place of the tile and read from another. Whatever "
                    "moves the places must do it on both sides",
                    "zh": "{size}：同一个元素写进去和读出来的位置不同。无论怎样换位置，写入和读出两边都要换",
                },
                "gfnet#swizzle",
            )
    return None


def seven_bits(failure):
    lower = np.array([int(f"{j:07b}"[::-1], 2) for j in range(N // 2)])
    if not sorted_by(failure, np.append(lower, lower + N // 2)):
        return None
    return Cause(
        "seven-bits",
        {},
        {
            "en": "{size}: only the lowest seven bits are reversed, so each half of the line is sorted apart. The "
            "index of 256 elements has eight bits",
            "zh": "{size}：只倒了最低七位，所以一行的前后两半各排各的。256 个元素的下标有八位",
        },
        "gfnet#butterflies",
    )


exercise = Exercise(
    kernel="void sort(const float* in, float* out)",
    sizes=Sizes([1, 2, 3, 7]),
    inputs=inputs,
    reference=reference,
    launch=lambda lines: Launch(grid=lines, block=N),
    causes=(not_sorted, one_side_only, seven_bits),
    budget=Budget(at=16, sectors_per_load=4.0, sectors_per_store=4.0, bank_conflicts=0),
)
