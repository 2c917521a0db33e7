import numpy as np
from warpjudge import Budget, Cause, Exercise, Programs, Sizes

XBLOCK, RBLOCK = 4, 64


def inputs(random, rows, columns):
    """Whole numbers, so that sums are exact in any order."""
    return {
        "x": random.whole((rows, columns), 12),
        "target": random.whole((rows, columns), 12),
        "rows": rows,
        "columns": columns,
    }


def terms(x, target):
    return np.maximum(1 - x.astype(float) * target, 0) ** 2


def reference(x, target, rows, columns):
    return {"loss": terms(x, target).sum(axis=1)}


def known(failure):
    """Elements beyond the row, or only a part of it."""
    given = terms(failure.inputs["x"], failure.inputs["target"])
    columns = given.shape[1]
    missing = -columns % RBLOCK
    last = (columns - 1) // RBLOCK * RBLOCK
    guesses = {
        "masked-count": given.sum(axis=1) + missing if missing else None,
        "first-block": given[:, :RBLOCK].sum(axis=1),
        "last-block": given[:, last:].sum(axis=1),
        "no-square": np.sqrt(given).sum(axis=1),
        "mean": given.mean(axis=1),
    }
    for name, guess in guesses.items():
        if guess is not None and np.allclose(failure.got, guess, rtol=1e-5):
            row = int(np.argmax(failure.wrong))
            about = {"at": f"[{row}]", "got": f"{failure.got[row]:.7g}", "want": f"{failure.want[row]:.7g}"}
            return Cause(name, about | {"missing": missing, "block": RBLOCK}, SENTENCES[name])
    return None


SENTENCES = {
    "masked-count": {
        "en": "{size}: loss{at} is {got}, expected {want}: {missing} elements that the mask excludes count 1 each, "
        "since max(0, 1 - 0) is 1",
        "zh": "{size}：loss{at} 是 {got}，应为 {want}：被掩码排除的 {missing} 个元素各计了 1，"
        "因为 max(0, 1 - 0) 等于 1",
    },
    "first-block": {
        "en": "{size}: loss{at} is {got}, expected {want}: only the first {block} elements of a row count",
        "zh": "{size}：loss{at} 是 {got}，应为 {want}：每行只计了前 {block} 个元素",
    },
    "last-block": {
        "en": "{size}: loss{at} is {got}, expected {want}: each step of the loop overwrites what the steps before it "
        "have added up",
        "zh": "{size}：loss{at} 是 {got}，应为 {want}：循环的每一步都覆盖了前面各步累加的结果",
    },
    "no-square": {
        "en": "{size}: loss{at} is {got}, expected {want}: the margins are added up without being squared",
        "zh": "{size}：loss{at} 是 {got}，应为 {want}：累加之前没有平方",
    },
    "mean": {
        "en": "{size}: loss{at} is {got}, expected {want}: this is the mean of the row, and the sum is asked for",
        "zh": "{size}：loss{at} 是 {got}，应为 {want}：这是一行的均值，题目要的是总和",
    },
}


exercise = Exercise(
    kernel="def row_loss(x, target, loss, rows, columns, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr)",
    types="const float* x, const float* target, float* loss, int rows, int columns",
    sizes=Sizes([(1, 3), (2, 31), (4, 33), (5, 64), (7, 97), (3, 80), (6, 131)]),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, columns: Programs(-(-rows // XBLOCK), num_warps=2, XBLOCK=XBLOCK, RBLOCK=RBLOCK),
    causes=(known,),
    budget=Budget(at=(64, 256), bytes_loaded=2 * 4 * 64 * 256, bytes_stored=64 * 32, instructions_per_warp=260),
)
