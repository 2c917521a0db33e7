"""Relative position bias where tokens belong together, -10000 elsewhere: wrong regions and indices are named."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

THREADS, HIDDEN = 64, -10000.0


def inputs(random, rows, columns, m, shift):
    m = min(m, 7)
    draw = random.generator.standard_normal
    return {
        "scores": draw((rows * columns, m * m, m * m)).astype(np.float32),
        "table": draw((2 * m - 1) ** 2).astype(np.float32),
        "h": rows * m,
        "w": columns * m,
        "m": m,
        "shift": shift % m,
    }


def wrapped(h, w, m, at):
    """Of every window and token whether its row is at or beyond h, and its column w, if windows begin at `at`."""
    y, x = np.divmod(np.arange(m * m), m)
    top, left = np.divmod(np.arange(h // m * (w // m)), w // m)
    return (top[:, None] * m + y + at >= h), (left[:, None] * m + x + at >= w)


def regions(given, how="both"):
    rows, columns = wrapped(
        given["h"], given["w"], given["m"], given["m"] - given["shift"] if how == "line" else given["shift"]
    )
    if how == "line" and given["shift"] == 0:
        rows, columns = np.zeros_like(rows), np.zeros_like(columns)
    other = {"rows": 1 * rows, "sum": 1 * rows + columns, "none": 0 * rows}
    return other.get(how, rows + 2 * columns)


def finish(given, how="both", index="right", keep=1):
    given = given | {name: int(given[name]) for name in ("h", "w", "m", "shift")}
    m, region = given["m"], regions(given, how)
    y, x = np.divmod(np.arange(m * m), m)
    dy, dx = y[:, None] - y, x[:, None] - x
    if index == "transposed":
        dy, dx = dx, dy
    if index == "swapped":
        dy, dx = -dy, -dx
    bias = given["table"].astype(np.float64)[(dy + m - 1) * (2 * m - 1) + dx + m - 1]
    return np.where(region[:, :, None] == region[:, None, :], keep * given["scores"] + bias, HIDDEN)


def reference(scores, table, h, w, m, shift):
    return {"scores": finish({"scores": scores, "table": table, "h": h, "w": w, "m": m, "shift": shift})}


def region_or_index(failure):
    guesses = {
        "no-mask": {"how": "none"},
        "only-rows": {"how": "rows"},
        "regions-added": {"how": "sum"},
        "wrong-line": {"how": "line"},
        "index-transposed": {"index": "transposed"},
        "query-key-swapped": {"index": "swapped"},
        "scores-lost": {"keep": 0},
    }
    for name, options in guesses.items():
        if np.allclose(failure.got, finish(failure.inputs, **options), rtol=1e-5, atol=1e-5):
            v, i, j = (int(k) for k in np.argwhere(failure.wrong)[0])
            about = {
                "at": f"[{v}][{i}][{j}]",
                "got": f"{failure.got[v, i, j]:.5g}",
                "want": f"{failure.want[v, i, j]:.5g}",
            }
            index = name in ("index-transposed", "query-key-swapped", "scores-lost")
            return Cause(name, about, SENTENCES[name], "swin#bias" if index else "swin#mask")
    return None


SENTENCES = {
    "no-mask": {
        "en": "{size}: scores{at} is {got}, expected {want}: nothing is masked. In the last windows, tokens from "
        "opposite sides of the map lie next to each other",
        "zh": "{size}：scores{at} 是 {got}，应为 {want}：完全没有掩码。在最后一排和最后一列窗口里，"
        "来自图的两侧的 token 排在了一起",
    },
    "only-rows": {
        "en": "{size}: scores{at} is {got}, expected {want}: only rows are compared. Columns wrap around, too",
        "zh": "{size}：scores{at} 是 {got}，应为 {want}：只比较了行。列也会绕回",
    },
    "regions-added": {
        "en": "{size}: scores{at} is {got}, expected {want}: a token whose row wrapped and one whose column wrapped "
        "count as the same region. Compare rows and columns separately",
        "zh": "{size}：scores{at} 是 {got}，应为 {want}：只有行绕回的和只有列绕回的被当成同一个区域。行和列要分别比较",
    },
    "wrong-line": {
        "en": "{size}: scores{at} is {got}, expected {want}: the region begins at the wrong line. The last `shift` "
        "rows and columns of the shifted map wrapped around, not the last m - shift",
        "zh": "{size}：scores{at} 是 {got}，应为 {want}：区域的分界线错了。"
        "移位后的图里，绕回的是最后 `shift` 行和列，不是最后 m - shift",
    },
    "index-transposed": {
        "en": "{size}: scores{at} is {got}, expected {want}: rows and columns are swapped in the index of the table",
        "zh": "{size}：scores{at} 是 {got}，应为 {want}：查表的下标里，行差和列差对调了",
    },
    "query-key-swapped": {
        "en": "{size}: scores{at} is {got}, expected {want}: the offset is key minus query. It is query minus key",
        "zh": "{size}：scores{at} 是 {got}，应为 {want}：差取成了键减查询，应当是查询减键",
    },
    "scores-lost": {
        "en": "{size}: scores{at} is {got}, expected {want}: the bias replaces the score. Add it",
        "zh": "{size}：scores{at} 是 {got}，应为 {want}：偏置取代了得分。应当相加",
    },
}


def launch(rows, columns, m, shift):
    return Launch(grid=(rows * columns, min(m, 7) ** 2), block=THREADS)


exercise = Exercise(
    kernel="void finish(float* scores, const float* table, int h, int w, int m, int shift)",
    sizes=Sizes([(1, 1, 1, 0), (2, 1, 3, 1), (2, 2, 2, 1), (2, 3, 3, 1), (3, 2, 4, 3), (2, 2, 5, 2), (3, 2, 7, 3)]),
    inputs=inputs,
    reference=reference,
    launch=launch,
    roundings=1,
    budget=Budget(at=(4, 4, 7, 3), bytes_stored=16 * 49 * 14 * 32, atomics=0, sectors_per_store=4.0),
    causes=(region_or_index,),
)
