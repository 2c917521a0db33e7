"""Erosion after erosion in one block: in which one a pixel disappears, its chessboard distance to the outside."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes


def inputs(random, h, w):
    """A few rectangles and holes, so that there are thick parts, and parts at the frame."""
    draw = random.generator
    mask = np.zeros((h, w), np.uint8)
    for k in range(5):
        top, left = draw.integers(0, h), draw.integers(0, w)
        mask[top : top + draw.integers(1, h + 1), left : left + draw.integers(1, w + 1)] = 1
        if k % 2:
            mask[draw.integers(0, h), draw.integers(0, w)] = 0
    mask[: h // 2 + 1, : w // 2 + 1] = 1
    return {"mask": mask.ravel(), "h": h, "w": w}


def distance(mask, h, w, metric, frame=True):
    """To the nearest pixel outside the mask by definition, each against each; with `frame`, those around the image."""
    wide = np.pad(mask.reshape(h, w), 1) > 0
    y, x = np.nonzero(~wide)
    if not frame:
        keep = (y > 0) & (y <= h) & (x > 0) & (x <= w)
        y, x = y[keep], x[keep]
        if not len(y):
            return None
    rows, columns = np.indices((h, w)) + 1
    dy, dx = np.abs(rows[..., None] - y), np.abs(columns[..., None] - x)
    return metric(dy, dx).min(-1).ravel()


def reference(mask, h, w):
    return {"round": distance(mask, h, w, np.maximum)}


def another_rule(failure):
    given = failure.inputs
    mask, h, w, i = given["mask"], int(given["h"]), int(given["w"]), int(np.argmax(failure.wrong))
    steps = distance(mask, h, w, np.maximum)
    apart = distance(mask, h, w, np.maximum, frame=False)
    rules = (
        ("no-corners", distance(mask, h, w, np.add), "boundary-labels#thickness",
         "pixel {i} lasts too long: its diagonal neighbours do not erode it; the window is 3 x 3, not a cross",
         "像素 {i} 消失得太晚：斜向的邻居没有参与腐蚀；窗口是 3 x 3，不是十字"),
        ("survived", np.maximum(steps - 1, 0), "",
         "pixel {i} has the number of erosions that it survives; asked is the one in which it disappears, one more",
         "像素 {i} 写的是它挺过的次数；要的是它在第几次消失，多一次"),
        ("two-at-once", (steps + 1) // 2, "",
         "pixel {i} disappears too early: this window is 5 x 5, which erodes by two pixels at once",
         "像素 {i} 消失得太早：这个窗口是 5 x 5，一次腐蚀两个像素"),
        ("frame", np.full(h * w, 16) if apart is None else np.minimum(apart, 16), "boundary-labels#frame",
         "pixel {i} lasts too long: what is outside the image counts as mask; here it is 0, so the frame erodes",
         "像素 {i} 消失得太晚：图像之外被当成了掩码；这里图像之外是 0，所以边框会被腐蚀"),
    )  # fmt: skip
    for name, wrong, section, en, zh in rules:
        if np.array_equal(failure.got, wrong) and steps.max() > 1:
            return Cause(name, {"i": i}, {"en": "{size}: " + en, "zh": "{size}：" + zh}, section)
    return None


exercise = Exercise(
    kernel="void peel(const unsigned char* mask, int* round, int h, int w)",
    sizes=Sizes([(1, 1), (1, 7), (5, 3), (8, 32), (13, 17), (24, 31), (31, 24), (32, 32)]),
    inputs=inputs,
    reference=reference,
    launch=lambda h, w: Launch(grid=1, block=(32, 32)),
    causes=(another_rule,),
    budget=Budget(at=(32, 32), bytes_loaded=1024, bytes_stored=4096, barriers_per_warp=36),
)
