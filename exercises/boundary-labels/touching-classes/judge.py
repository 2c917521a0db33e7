"""Pixels that touch another class; rules mistaken for this one are named."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

VOID, OUTSIDE = 255, -1
AT = (64, 128)


def inputs(random, h, w):
    """Patches of 2 x 3 pixels on which no two rules agree; in a narrow map they could, so that is void."""
    draw = random.generator
    if h < 5 or w < 7:
        return {"labels": np.full(h * w, VOID, np.uint8), "h": h, "w": w}
    while True:
        coarse = draw.choice([0, 3, 7, 18, VOID], (h // 2 + 2, w // 3 + 2), p=[0.3, 0.25, 0.15, 0.15, 0.15])
        down, right = draw.integers(2), draw.integers(3)
        labels = coarse.repeat(2, 0).repeat(3, 1)[down : down + h, right : right + w].astype(np.uint8).ravel()
        answers = [rule(labels, h, w).tobytes() for rule, *_ in RULES.values()]
        if len({*answers, reference(labels, h, w)["edge"].tobytes()}) > len(answers):
            return {"labels": labels, "h": h, "w": w}


def neighbours(labels, h, w, outside=OUTSIDE):
    wide = np.pad(labels.reshape(h, w).astype(np.int64), 1, constant_values=outside)
    return {(dy, dx): wide[1 + dy : h + 1 + dy, 1 + dx : w + 1 + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1)}


def marked(labels, h, w, differs, keep=lambda dy, dx: True):
    own = labels.reshape(h, w).astype(np.int64)
    found = np.full((h, w), VOID)
    for (dy, dx), other in neighbours(labels, h, w).items():
        if keep(dy, dx):
            found = np.where((own != VOID) & differs(own, other), own, found)
    return found.ravel()


def touching(own, other):
    return (other != own) & (other != VOID) & (other != OUTSIDE)


def reference(labels, h, w):
    return {"edge": marked(labels, h, w, touching)}


def wrapped(labels, h, w):
    """The neighbour of a row's first pixel taken from the end of the row before."""
    own, found = labels.astype(np.int64), np.full(h * w, VOID)
    at = np.arange(h * w)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            to = at + dy * w + dx
            other = np.where((to >= 0) & (to < h * w), own[np.clip(to, 0, h * w - 1)], VOID)
            found = np.where((own != VOID) & (other != own) & (other != VOID), own, found)
    return found


RULES = {
    "frame": (
        lambda *a: marked(*a, lambda own, other: (other != own) & (other != VOID)),
        "boundary-labels#frame",
        "pixels at the image's frame are marked, such as pixel {i}: outside there is no class that could differ",
        "图像边框上的像素被标成了边界，例如像素 {i}：图像之外没有类别，谈不上不同",
    ),
    "void": (
        lambda *a: marked(*a, lambda own, other: (other != own) & (other != OUTSIDE)),
        "boundary-labels#void",
        "void counts as a class: pixel {i} touches only its own class and 255, which says that the class is unknown",
        "void 被当成了一个类别：像素 {i} 的邻居只有同类和 255，而 255 表示类别未知",
    ),
    "frame-and-void": (
        lambda *a: marked(*a, lambda own, other: other != own),
        "boundary-labels#laplacian",
        "this is the Laplacian's rule: the frame and void count as other classes, as for pixel {i}",
        "这是拉普拉斯的规则：边框和 void 都被当成了别的类别，例如像素 {i}",
    ),
    "no-diagonals": (
        lambda *a: marked(*a, touching, lambda dy, dx: dy * dx == 0),
        "boundary-labels#laplacian",
        "pixel {i} is not marked, although a diagonal neighbour has another class: a pixel has eight neighbours",
        "像素 {i} 没有标出，但它的斜向邻居属于另一类：邻居有八个，不是四个",
    ),
    "by-number": (
        lambda *a: marked(*a, lambda own, other: touching(own, other) & (other < own)),
        "boundary-labels#lineage",
        "pixel {i} is not marked: only neighbours with a smaller number count here, but class numbers have no order",
        "像素 {i} 没有标出：这里只有编号更小的邻居才算数，但类别编号没有大小之分",
    ),
    "wraps": (
        wrapped,
        "",
        "pixel {i} is wrong: for the first and last pixel of a row, i - 1 and i + 1 are in another row",
        "像素 {i} 不对：行首和行末的像素，i - 1 和 i + 1 已经落到另一行",
    ),
}


def another_rule(failure):
    given = failure.inputs
    h, w, i = int(given["h"]), int(given["w"]), int(np.argmax(failure.wrong))
    if (failure.got[failure.wrong] != VOID).any():
        own = given["labels"].astype(np.int64)
        marks = failure.got != VOID
        if np.array_equal(marks, failure.want != VOID) and (failure.got[marks] != own[marks]).any():
            return Cause("neighbour-written", {"i": i}, {
                "en": "{size}: pixel {i} holds the neighbour's class: a boundary pixel keeps its own",
                "zh": "{size}：像素 {i} 写成了邻居的类别：边界像素保留自己的类别",
            })  # fmt: skip
    for name, (rule, section, en, zh) in RULES.items():
        if np.array_equal(failure.got, rule(given["labels"], h, w)):
            return Cause(name, {"i": i}, {"en": "{size}: " + en, "zh": "{size}：" + zh}, section)
    return None


exercise = Exercise(
    kernel="void edges(const unsigned char* labels, unsigned char* edge, int h, int w)",
    sizes=Sizes([(1, 1), (1, 40), (6, 7), (7, 33), (9, 31), (8, 32), (16, 64), (23, 103), (37, 41), (71, 13)]),
    inputs=inputs,
    reference=reference,
    launch=lambda h, w: Launch(grid=(-(-w // 32), -(-h // 8)), block=(32, 8)),
    causes=(another_rule,),
    budget=Budget(at=AT, sectors_per_load=2.0, sectors_per_store=1.0, bytes_stored=AT[0] * AT[1]),
)
