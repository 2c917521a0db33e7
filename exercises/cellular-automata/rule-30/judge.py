"""Rule 30 on a ring, 32 cells per word."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK, RULE = 256, 30
AT = 1 << 13


def inputs(random, n):
    return {"cells": random.integers(n, 0, 2**32 - 1, "uint32"), "n": n}


def unpacked(words):
    return np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")


def packed(cells):
    return np.packbits(cells, bitorder="little").view("<u4").astype(np.uint32)


def step(cells, left, right, rule):
    return (rule >> (4 * left + 2 * cells + right) & 1).astype(np.uint8)


def reference(cells, n):
    row = unpacked(cells).astype(np.uint32)
    return {"next": packed(step(row, np.roll(row, 1), np.roll(row, -1), RULE))}


def another_rule(failure):
    """Which of the 256 rules it is, if it is one: with left and right exchanged, rule 30 is 86."""
    row = unpacked(failure.inputs["cells"]).astype(np.uint32)
    pattern = 4 * np.roll(row, 1) + 2 * row + np.roll(row, -1)
    got = unpacked(failure.got)
    rule = 0
    for p in range(8):
        answers = set(got[pattern == p].tolist())
        if len(answers) > 1 or not answers:  # not a rule, or a pattern that does not occur here
            return None
        rule |= answers.pop() << p
    if rule == 86:
        return Cause(
            "mirrored",
            {},
            {
                "en": "{size}: this is rule 86, the mirror image of rule 30: the left neighbour of cell i is cell "
                "i - 1, one bit lower in the word",
                "zh": "{size}：这是规则 86，即规则 30 的镜像：格子 i 的左邻居是格子 i - 1，在字里低一位",
            },
        )
    return Cause(
        "another-rule",
        {"rule": int(rule)},
        {
            "en": "{size}: this is rule {rule}, not rule 30: next = left ^ (self | right)",
            "zh": "{size}：这是规则 {rule}，不是规则 30：next = left ^ (self | right)",
        },
    )


def borders(failure):
    """Only cells at the ends of words, or of the ring, are wrong."""
    wrong = np.flatnonzero(unpacked(failure.got) != unpacked(failure.want))
    last = 32 * failure.got.size - 1
    if set(wrong.tolist()) <= {0, last}:
        return Cause(
            "ring-open",
            {"i": int(wrong[0])},
            {
                "en": "{size}: cells are wrong only at the ends of the ring, such as cell {i}: the left neighbour of "
                "cell 0 is the last cell, and the right neighbour of the last cell is cell 0",
                "zh": "{size}：只有环两端的格子不对（格子 {i}）：格子 0 的左邻居是最后一格，最后一格的右邻居是格子 0",
            },
        )
    if np.isin(wrong % 32, (0, 31)).all():
        return Cause(
            "words-apart",
            {"i": int(wrong[0])},
            {
                "en": "{size}: only first and last bits of words are wrong, such as cell {i}: their neighbours are in "
                "the next word or in the one before",
                "zh": "{size}：只有各个字的最低位和最高位不对，例如格子 {i}：它们的邻居在前一个字或后一个字里",
            },
        )
    return None


exercise = Exercise(
    kernel="void rule30(const unsigned* cells, unsigned* next, int n)",
    sizes=Sizes([8, 31, 32, 33, 97, 131, 255, 256, 257, 511, 513, 1031]),  # in fewer words, ends look like borders
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    causes=(another_rule, borders),
    budget=Budget(at=AT, instructions_per_warp=64, bytes_loaded=16 * AT, bytes_stored=4 * AT),
)
