import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 128
WIDTH = 8  # features of a point


def inputs(random, size, n):
    """Coordinates in quarters of a cell, and gradients that are whole: sums are exact in any order."""
    points = random.integers((n, 3), 0, 4 * (size - 1)).astype(np.float32) / 4
    points[: n // 4 + 1, random.integers(1, 0, 2)[0]] = size - 1  # on the far face
    return {
        "grad": random.whole((n, WIDTH), 2000),
        "points": points,
        "cells": random.whole((size, size, size, WIDTH), 100),  # what other points have added
        "size": size,
        "n": n,
    }


def corners(points, size):
    """Of every point: eight corners (x, y, z), with the weights that interpolation gives them."""
    low = np.minimum(np.floor(points), size - 2).astype(int)
    part = points.astype(float) - low
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(np.array(corner) == 1, part, 1 - part), axis=1)
        yield low + np.array(corner), weight


def scattered(grad, points, cells, size, change=lambda at, weight: (at, weight)):
    total = cells.astype(float).copy()
    for at, weight in corners(points, int(size)):
        at, weight = change(at, weight)
        np.add.at(total, tuple(at.T), weight[:, None] * grad.astype(float))
    return total


def reference(grad, points, cells, size, n):
    return {"cells": scattered(grad, points, cells, size)}


def axes(failure):
    """Right, but for the order of the axes."""
    given = {name: failure.inputs[name] for name in ("grad", "points", "cells", "size")}
    turned = scattered(**given, change=lambda at, weight: (at[:, ::-1], weight))
    if np.array_equal(failure.got, turned):
        return Cause("axes", {}, {
            "en": "{size}: the axes are exchanged: a cell's address is ((x * size + y) * size + z) * 8, with z the "
            "fastest",
            "zh": "{size}：坐标轴的次序反了：格点的地址是 ((x * size + y) * size + z) * 8，z 变化最快",
        })  # fmt: skip
    return None


def weights(failure):
    """Every gradient arrives whole at eight corners, or with the weight of the opposite one."""
    given = {name: failure.inputs[name] for name in ("grad", "points", "cells", "size")}
    low = np.minimum(np.floor(given["points"]), given["size"] - 2).astype(int)
    opposite = scattered(**given, change=lambda at, weight: (2 * low + 1 - at, weight))
    if np.array_equal(failure.got, opposite):
        return Cause("opposite-weights", {}, {
            "en": "{size}: every corner gets the weight of the opposite one: the upper corner's is the fraction itself",
            "zh": "{size}：每个角用了对角的权重：上侧的角，权重就是小数部分本身",
        })  # fmt: skip
    whole = scattered(**given, change=lambda at, weight: (at, np.ones_like(weight)))
    if np.array_equal(failure.got, whole):
        return Cause("no-weights", {}, {
            "en": "{size}: every corner gets the whole gradient: multiply it by the corner's weight",
            "zh": "{size}：每个角都得到了整个梯度：要乘上这个角的权重",
        })  # fmt: skip
    return None


class Grids(Sizes):
    """Of each, points enough to reach every cell."""

    def fresh(self, random):
        return [(size, int(random.generator.integers(12 * size**3, 16 * size**3))) for size in (2, 3, 4)]


exercise = Exercise(
    kernel="void trilinear_backward(const float* grad, const float* points, float* cells, int size, int n)",
    sizes=Grids([(2, 24), (2, 67), (3, 200), (4, 611), (5, 1024)]),
    inputs=inputs,
    reference=reference,
    launch=lambda size, n: Launch(grid=-(-n * WIDTH // BLOCK), block=BLOCK),
    linear="grad",
    causes=(axes, weights),
    budget=Budget(at=(8, 512), sectors_per_load=4.0, atomics=8 * 512 * WIDTH // 32, instructions_per_warp=140),
)
