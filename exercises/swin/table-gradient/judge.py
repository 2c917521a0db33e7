"""Sums over the pairs of each offset: swapped and transposed indices, lost pairs and old sums are named."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

THREADS = 64


def inputs(random, windows, m):
    m = min(m, 7)
    old = random.whole((windows, (2 * m - 1) ** 2), 100)
    return {"ds": random.whole((windows, m * m, m * m), 1000), "partial": old + 1, "m": m}


def gather(ds, m, index="right", fewer=0):
    y, x = np.divmod(np.arange(m * m), m)
    dy, dx = y[:, None] - y, x[:, None] - x
    if index == "transposed":
        dy, dx = dx, dy
    if index == "swapped":
        dy, dx = -dy, -dx
    entry = (dy + m - 1) * (2 * m - 1) + dx + m - 1
    kept = np.maximum(y[:, None], y) < m - fewer
    found = np.zeros((len(ds), (2 * m - 1) ** 2))
    for sums, slopes in zip(found, ds.astype(np.float64), strict=True):
        np.add.at(sums, entry[kept], slopes[kept])
    return found


def reference(ds, partial, m):
    return {"partial": gather(ds, int(m))}


def pairs(failure):
    ds, m = failure.inputs["ds"], int(failure.inputs["m"])
    guesses = {
        "stale": gather(ds, m) + failure.inputs["partial"],
        "index-transposed": gather(ds, m, "transposed"),
        "query-key-swapped": gather(ds, m, "swapped"),
        "last-row-lost": gather(ds, m, fewer=1),
    }
    for name, guess in guesses.items():
        if np.array_equal(failure.got, guess):
            v, e = (int(k) for k in np.argwhere(failure.wrong)[0])
            got, want = failure.got[v, e], failure.want[v, e]
            about = {"at": f"[{v}][{e}]", "got": f"{got:g}", "want": f"{want:g}"}
            return Cause(name, about, SENTENCES[name], "swin#backward")
    return None


SENTENCES = {
    "stale": {
        "en": "{size}: partial{at} is {got}, expected {want}: it still holds the sum of the previous step. "
        "Overwrite it",
        "zh": "{size}：partial{at} 是 {got}，应为 {want}：里面还留着上一步的和。要覆盖，不要累加",
    },
    "index-transposed": {
        "en": "{size}: partial{at} is {got}, expected {want}: rows and columns are swapped in the index of the table",
        "zh": "{size}：partial{at} 是 {got}，应为 {want}：表的下标里，行差和列差对调了",
    },
    "query-key-swapped": {
        "en": "{size}: partial{at} is {got}, expected {want}: the offset is key minus query. It is query minus key",
        "zh": "{size}：partial{at} 是 {got}，应为 {want}：差取成了键减查询，应当是查询减键",
    },
    "last-row-lost": {
        "en": "{size}: partial{at} is {got}, expected {want}: pairs with a token in the last row of the window are "
        "missing. The upper end of y is min(m, m + dy), excluded",
        "zh": "{size}：partial{at} 是 {got}，应为 {want}：少了有 token 在窗口最后一行的那些对。"
        "y 的上界是 min(m, m + dy)，不含它本身",
    },
}


exercise = Exercise(
    kernel="void gather(const float* ds, float* partial, int m)",
    sizes=Sizes([(1, 1), (1, 2), (2, 3), (3, 4), (2, 5), (5, 6), (4, 7)]),
    inputs=inputs,
    reference=reference,
    launch=lambda windows, m: Launch(grid=windows, block=THREADS),
    budget=Budget(at=(8, 7), atomics=0),
    causes=(pairs,),
)
