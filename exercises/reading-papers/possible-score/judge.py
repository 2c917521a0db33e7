"""Can a printed score be the rounded, or the cut, share of whole answers? Exact in integers."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256
SMALL = np.array([7, 16, 80, 164, 198, 400, 500, 2000])  # of some, shares end in a 5: they may round either way


def inputs(random, count):
    problems = np.where(
        random.integers(count, 0, 3, "int32") > 0,
        SMALL[random.integers(count, 0, SMALL.size - 1, "int32")],
        random.integers(count, 1, 2_000_000, "int32"),
    )
    right = (random.integers(count, 0, 1 << 20, "int64") * problems) >> 20
    shift = random.integers(count, 0, 2, "int64") * 500  # rounded down, to the nearest, or up
    real = np.minimum((1000 * right + shift * problems // 500 // 2) // problems, 1000)
    made_up = random.integers(count, 0, 1000, "int64")
    tenths = np.where(random.integers(count, 0, 1, "int32") > 0, real, made_up)
    return {"tenths": tenths.astype(np.int32), "problems": problems.astype(np.int32), "count": count}


def verdicts(tenths, problems, *, below=False, cut_first=False, next_too=False, ties=True):
    """2 rounded, 1 only cut, 0 neither; the keywords are mistakes."""
    p, n = tenths.astype(np.int64), problems.astype(np.int64)
    nearest = p * n // 1000 if below else (p * n + 500) // 1000
    off = 2 * np.abs(1000 * nearest - p * n)
    rounded = off <= n if ties else off < n
    above = (p * n + 999) // 1000 * 1000 - p * n
    cut = above <= n if next_too else above < n
    return np.where(cut, 1, np.where(rounded, 2, 0)) if cut_first else np.where(rounded, 2, np.where(cut, 1, 0))


def reference(tenths, problems, count):
    return {"verdict": verdicts(tenths, problems)}


def at(failure):
    """The first wrong element, as numbers for a message."""
    i = int(np.argmax(failure.wrong))
    return {
        "i": i,
        "tenths": int(failure.inputs["tenths"][i]),
        "n": int(failure.inputs["problems"][i]),
        "got": int(failure.got[i]),
        "want": int(failure.want[i]),
    }


def explained(failure, **mistake):
    """Whether the whole output is what this mistake gives."""
    return np.array_equal(failure.got, verdicts(failure.inputs["tenths"], failure.inputs["problems"], **mistake))


def only_below(failure):
    if not explained(failure, below=True):
        return None
    return Cause(
        "only-below",
        at(failure),
        {
            "en": "{size}: verdict[{i}] is {got}, expected {want}: the number of right answers may be the one above "
            "the exact product, too. Division of integers cuts; add half before you divide",
            "zh": "{size}：verdict[{i}] 是 {got}，应为 {want}：答对的题数也可能是精确值上方的那个整数。"
            "整数除法会截断，先加一半再除",
        },
    )


def cut_first(failure):
    if not explained(failure, cut_first=True):
        return None
    return Cause(
        "cut-first",
        at(failure),
        {
            "en": "{size}: verdict[{i}] is 1, expected 2: where a score can be both, rounded comes before cut",
            "zh": "{size}：verdict[{i}] 是 1，应为 2：舍入和截断都能得到这个得分时，算舍入",
        },
    )


def next_too(failure):
    if not explained(failure, next_too=True):
        return None
    return Cause(
        "next-too",
        at(failure),
        {
            "en": "{size}: verdict[{i}] is 1, expected 0: the nearest share above is exactly one tenth more, "
            "and cutting would print that tenth",
            "zh": "{size}：verdict[{i}] 是 1，应为 0：上方最近的得分恰好多出一个末位，截断后印出来的会是那一个",
        },
    )


def ties(failure):
    """Only shares that lie half-way between two printed scores are wrong."""
    p, n = (failure.inputs[name].astype(np.int64) for name in ("tenths", "problems"))
    half = 2 * np.abs((p * n + 500) // 1000 * 1000 - p * n) == n
    if not half[failure.wrong].all():
        return None
    return Cause(
        "ties",
        at(failure),
        {
            "en": "{size}: verdict[{i}] is {got}, expected {want}: a share lies exactly half-way between this score "
            "({tenths} tenths, {n} problems) and its neighbour. It may round either way; compare integers",
            "zh": "{size}：verdict[{i}] 是 {got}，应为 {want}：有一个比例恰好在它（千分之 {tenths}，{n} 题）"
            "与相邻得分的正中，"
            "向上向下舍入都可以；只有用整数比较才不会出错",
        },
    )


exercise = Exercise(
    kernel="void scores(const int* tenths, const int* problems, unsigned char* verdict, int count)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda count: Launch(grid=-(-count // BLOCK), block=BLOCK),
    causes=(only_below, cut_first, next_too, ties),
    budget=Budget(at=1 << 12, sectors_per_load=4.0, bytes_loaded=8 << 12),
)
