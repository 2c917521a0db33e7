"""Every kernel on every combination of filter, stride, padding, dilation and groups that fits a small image.

python grid.py   hold y, dx and dw against float64, and float64's own gradients against differences
"""

import itertools
from collections import Counter

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _conv import Arrays, Layer, bounds, data_gradient, depthwise, forward, half, half_ways, weights_gradient

FILTERS = ((1, 1), (3, 3), (2, 3), (1, 4))
STRIDES, PADS, DILATIONS = (1, 2, 3), (0, 1, 2), (1, 2)
WINOGRAD = 16  # its transforms add and subtract: more roundings per term, of larger terms


# --8<-- [start:grid]
def combinations(c: int, k: int, groups: tuple[int, ...], filters: tuple = FILTERS) -> list[Layer]:
    found = (
        Layer(2, 7, 6, c, k, r, s, stride, pad, dilation, group)
        for (r, s), stride, pad, dilation, group in itertools.product(filters, STRIDES, PADS, DILATIONS, groups)
    )
    return [layer for layer in found if layer.exists]


# --8<-- [end:grid]


def check_layer(rng: np.random.Generator, layer: Layer, worst: Counter) -> None:
    """y by every way that suits the layer, dx and dw."""
    a = Arrays(rng, layer)
    x, w, dy = (a.host[name] for name in ("x", "w", "dy"))
    of_y, of_dx, of_dw = bounds(layer, x, w, dy)
    want = forward(layer, x, w)
    for way, run in a.ways().items():
        a.poison("y")
        run()
        wide = WINOGRAD if way == "winograd" else 1
        worst[way] = max(worst[way], wb.check(a.get("y", layer.y_shape), want, wide * of_y, f"{way}, {layer}"))
    right = {"dx": (data_gradient(layer, dy, w), of_dx), "dw": (weights_gradient(layer, x, dy), of_dw)}
    for name, run in a.gradients().items():
        a.poison(name)
        run()
        want, bound = right[name]
        worst[name] = max(worst[name], wb.check(a.get(name, want.shape), want, bound, f"{name}, {layer}"))


# --8<-- [start:differences]
def dense(layer: Layer, w: np.ndarray) -> np.ndarray:
    """One image in, as a matrix: a row per output, a column per input."""
    every = np.eye(layer.h * layer.w * layer.c).reshape(-1, *layer.x_shape[1:])
    return forward(layer, every, w).reshape(len(every), -1).T


def check_differences(rng: np.random.Generator, layer: Layer) -> None:
    """The gradients in float64 against differences. The layer is linear in x and in w, so a step of 1 is exact."""
    x, w, dy = (rng.standard_normal(shape) for shape in (layer.x_shape, layer.w_shape, layer.y_shape))
    matrix = dense(layer, w)  # written out
    y = forward(layer, x, w)
    wb.check(x.reshape(layer.n, -1) @ matrix.T, y.reshape(layer.n, -1), 1e-12 * (1 + np.abs(y).max()), "as a matrix")
    slope = (dy.reshape(layer.n, -1) @ matrix).reshape(layer.x_shape)
    wb.check(data_gradient(layer, dy, w), slope, 1e-12 * (1 + np.abs(slope).max()), f"dx in float64, {layer}")
    dw = weights_gradient(layer, x, dy)
    for at in rng.integers(0, w.size, 6):
        step = np.zeros_like(w)
        step.flat[at] = 1
        slope = np.sum(dy * (forward(layer, x, w + step) - y))
        wb.check(dw.flat[at], slope, 1e-11 * (1 + np.abs(dy).sum()), f"dw in float64, {layer}")


# --8<-- [end:differences]


def check_half(rng: np.random.Generator, layer: Layer) -> float:
    x, w = (rng.standard_normal(shape).astype(np.float16) for shape in (layer.x_shape, layer.w_shape))
    want, worst = forward(layer, x, w), 0.0
    bound = 2.0**-11 * np.abs(want) + 1.1 * bounds(layer, x, w, want)[0] + 2.0**-24
    for way in half_ways():
        y = np.full(layer.y_shape, np.nan, np.float16)
        half(way, layer, cuda.In(x), cuda.In(np.ascontiguousarray(np.moveaxis(w, 3, 0))), cuda.InOut(y))
        worst = max(worst, wb.check(y, want, bound, f"fp16 by {way}, {layer}"))
    return worst


def check_depthwise(rng: np.random.Generator, layer: Layer) -> float:
    a = Arrays(rng, layer)
    x, w, dy = (a.host[name] for name in ("x", "w", "dy"))
    want, bound, worst = forward(layer, x, w), bounds(layer, x, w, dy)[0], 0.0
    ways = ("each", "strip", "roll") if (layer.r, layer.stride, layer.dilation) == (3, 1, 1) else ("each", "strip")
    for way in ways:
        a.poison("y")
        depthwise(way, layer, a.at["x"], a.at["w"], a.at["y"])
        worst = max(worst, wb.check(a.get("y", layer.y_shape), want, bound, f"depthwise {way}, {layer}"))
    return worst


if __name__ == "__main__":
    rng = np.random.default_rng()
    picture = dense(Layer(1, 6, 6, 1, 1, pad=1), np.arange(1.0, 10).reshape(3, 3, 1, 1))
    wb.matrix("layer.matrix", picture)
    layers = combinations(8, 12, (1, 2, 4)) + combinations(6, 6, (6,), ((3, 3), (2, 3)))
    for layer in layers:
        check_differences(rng, layer)
    print("float64: the gradients are the differences, and the layer is the dense matrix")
    worst: Counter = Counter()
    for layer in layers:
        check_layer(rng, layer, worst)
    wide = combinations(64, 64, (1, 2), ((3, 3), (1, 4)))  # here the kernels copy 16 bytes at a time
    for layer in [*wide, Layer(1, 10, 9, 32, 128, pad=1)]:
        check_layer(rng, layer, worst)
    print(f"{len(layers)} + {len(wide)} combinations, every kernel within its bound: {', '.join(worst)}")
    fp16 = combinations(16, 16, (1, 2), ((3, 3), (1, 4)))
    for layer in [*fp16, Layer(1, 9, 9, 64, 128, pad=1)]:
        check_half(rng, layer)
    print(f"fp16 by {' and '.join(half_ways())}: {len(fp16)} combinations within their bounds")
    for stride, dilation, pad in itertools.product((1, 2), (1, 2), (0, 1, 2)):
        check_depthwise(rng, Layer(2, 19, 9, 8, 8, 3, 3, stride, pad, dilation, 8))
    print("depthwise: 12 combinations within their bounds")
