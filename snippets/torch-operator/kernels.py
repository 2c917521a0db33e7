"""The kernels of the three operators against NumPy in float64, and its gradients against differences. Without PyTorch.

python kernels.py             check, in float and in double
python kernels.py --profile   launch each kernel once for a profiler
"""

import sys
from collections.abc import Sequence
from typing import Any

import _reference as reference
import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

THREADS = 256
NAMES = {np.float32: "float", np.float64: "double"}


class Kernels:
    """The kernels for one type, called with NumPy's arrays."""

    def __init__(self, dtype: Any) -> None:
        self.dtype, self.unit = dtype, float(np.finfo(dtype).eps)
        self.module = wb.module("torch-operator/ops.cu", REAL=NAMES[dtype])

    def call(
        self, name: str, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], numbers: Sequence[int],
        blocks: int, block: tuple[int, int],
    ) -> None:  # fmt: skip
        function = self.module.get_function(name)
        arrays = [*map(cuda.In, inputs), *map(cuda.InOut, outputs)]
        function(*arrays, *map(np.int64, numbers), block=(*block, 1), grid=(blocks, 1))

    def poisoned(self, *shape: int) -> np.ndarray:
        return np.full(shape, np.nan, self.dtype)

    def gelu(self, x: np.ndarray) -> np.ndarray:
        y = self.poisoned(*x.shape)
        self.call("gelu", [x], [y], [x.size], -(-x.nbytes // (16 * THREADS)), (THREADS, 1))
        return y

    def gelu_single(self, x: np.ndarray) -> np.ndarray:
        y = self.poisoned(*x.shape)
        self.call("gelu_single", [x], [y], [x.size], -(-x.size // THREADS), (THREADS, 1))
        return y

    def trilinear(self, grid: np.ndarray, points: np.ndarray) -> np.ndarray:
        out = self.poisoned(len(points), grid.shape[3])
        self.call("trilinear", [grid, points], [out], [len(points), *grid.shape], *self.rows(grid, points))
        return out

    def trilinear_backward(
        self, grad: np.ndarray, grid: np.ndarray, points: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        grid_grad, point_grad = np.zeros(grid.shape, self.dtype), self.poisoned(len(points), 3)
        numbers, shape = [len(points), *grid.shape], self.rows(grid, points)
        self.call("trilinear_backward", [grad, grid, points], [grid_grad, point_grad], numbers, *shape)
        return grid_grad, point_grad

    def grid_gradient_fixed(self, grad: np.ndarray, grid: np.ndarray, points: np.ndarray) -> np.ndarray:
        """So many fractional bits that no sum can overflow; the float at the end is rounded once."""
        exponent = 61 - int(np.ceil(np.log2(27 * len(points) * float(np.abs(grad).max()))))
        sums = np.zeros(grid.shape, np.int64)
        numbers = [len(points), *grid.shape, exponent]
        self.call("trilinear_backward_fixed", [grad, points], [sums], numbers, *self.rows(grid, points))
        return np.ldexp(sums.astype(np.float64), -exponent).astype(self.dtype)

    def rows(self, grid: np.ndarray, points: np.ndarray) -> tuple[int, tuple[int, int]]:
        lanes = min(32, 1 << (grid.shape[3] - 1).bit_length())
        return -(-len(points) // (THREADS // lanes)), (lanes, THREADS // lanes)

    def composite(self, tau: np.ndarray, colour: np.ndarray, start: np.ndarray) -> np.ndarray:
        rays = len(start) - 1
        out = self.poisoned(rays, 4)
        self.call("composite", [tau, colour, start], [out], [rays], -(-rays // (THREADS // 32)), (THREADS, 1))
        return out

    def composite_backward(
        self, grad: np.ndarray, out: np.ndarray, tau: np.ndarray, colour: np.ndarray, start: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        found, rays = (self.poisoned(*tau.shape), self.poisoned(*colour.shape)), len(start) - 1
        inputs, blocks = [grad, out, tau, colour, start], -(-rays // (THREADS // 32))
        self.call("composite_backward", inputs, found, [rays], blocks, (THREADS, 1))
        return found


# --8<-- [start:data]
def scene(
    rng: np.random.Generator, dtype: Any, shape: tuple[int, int, int, int], count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A gradient of the result, a grid, and points: in the grid, or outside by up to a cell."""
    points = rng.random((count, 3)) * (np.array(shape[2::-1]) + 1.0) - 1
    arrays = rng.normal(size=(count, shape[3])), rng.normal(size=shape), points
    return tuple(a.astype(dtype) for a in arrays)


def rays(
    rng: np.random.Generator, dtype: Any, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A gradient of the result, optical depths, colours, and where each ray starts."""
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    arrays = rng.normal(size=(len(lengths), 4)), rng.exponential(0.02, start[-1]), rng.random((start[-1], 3))
    return *(a.astype(dtype) for a in arrays), start


def skewed(count: int) -> np.ndarray:
    """1 to 256 samples per ray, most of them few: the mean is a third of the maximum. The same in every run."""
    return 1 + (255.99 * (np.arange(1, count + 1) * 0.6180339887 % 1) ** 2).astype(np.int64)


# --8<-- [end:data]


def check_gradients(rng: np.random.Generator) -> None:
    """The formulas of the gradients, in float64, against central differences."""
    grad, grid, points = scene(rng, np.float64, (3, 4, 5, 2), 9)
    points = np.floor(points) + 0.1 + 0.8 * (points - np.floor(points))  # not where two cells meet: there is a kink
    found = reference.trilinear_backward(grad, grid, points)
    loss = lambda g, p: float((reference.trilinear(g, p) * grad).sum())  # noqa: E731
    wb.check(found[0], reference.slopes(lambda g: loss(g, points), grid), 1e-7, "gradient of the grid")
    wb.check(found[1], reference.slopes(lambda p: loss(grid, p), points), 1e-7, "gradient of the points")
    grad, tau, colour, start = rays(rng, np.float64, np.array([1, 0, 7, 33]))
    found = reference.composite_backward(grad, tau, colour, start)
    loss = lambda t, c: float((reference.composite(t, c, start) * grad).sum())  # noqa: E731
    wb.check(found[0], reference.slopes(lambda t: loss(t, colour), tau), 1e-7, "gradient of the optical depth")
    wb.check(found[1], reference.slopes(lambda c: loss(tau, c), colour), 1e-7, "gradient of the colour")


def check_gelu(rng: np.random.Generator, kernels: Kernels, n: int) -> None:
    x = (3 * rng.normal(size=n)).astype(kernels.dtype)
    for name, way in (("gelu_single", kernels.gelu_single), ("gelu", kernels.gelu)):
        wb.check(way(x), reference.gelu(x), 8 * kernels.unit * np.abs(x.astype(np.float64)), name)


def check_trilinear(
    rng: np.random.Generator, kernels: Kernels, shape: tuple[int, int, int, int], count: int, spread: bool = False
) -> None:
    """`spread`: points evenly in the grid and the same in every run, since what a cache holds depends on them."""
    grad, grid, points = scene(rng, kernels.dtype, shape, count)
    if spread:
        steps = np.arange(1, count + 1)[:, None] * np.array([0.8191725134, 0.6710436067, 0.5497004779])
        points = (steps % 1 * (np.array(shape[2::-1]) - 1)).astype(kernels.dtype)
    out = kernels.trilinear(grid, points)
    on_grid, on_points = kernels.trilinear_backward(grad, grid, points)
    fixed = kernels.grid_gradient_fixed(grad, grid, points)
    check_trilinear_results(kernels.unit, (grad, grid, points), out, on_points, (on_grid, fixed))


def check_trilinear_results(
    unit: float, data: Sequence[np.ndarray], out: np.ndarray, on_points: np.ndarray, on_grid: Sequence[np.ndarray]
) -> None:
    """`data`: a scene; `on_grid`: its gradient in several ways. Against NumPy in float64."""
    wide = [a.astype(np.float64) for a in data]
    shape = data[1].shape
    unit *= 27 * max(shape)  # the magnitudes of the weights sum to 27 at most; positions are rounded too
    most = [np.abs(a).max() for a in wide]
    wb.check(out, reference.trilinear(*wide[1:]), 2 * unit * most[1], "trilinear")
    want = reference.trilinear_backward(*wide)
    terms = max(1, np.bincount(np.ravel_multi_index(reference.cells(*wide[1:])[0].T, shape[2::-1])).max())
    for each in on_grid:
        wb.check(each, want[0], 8 * unit * most[0] * terms, "the gradient of the grid")
    wb.check(on_points, want[1], 2 * unit * most[0] * most[1] * shape[3], "the gradient of the points")


def check_composite(rng: np.random.Generator, kernels: Kernels, lengths: np.ndarray, padded: int = 0) -> None:
    """`padded`: so many samples for each ray, of which those behind the last absorb nothing."""
    grad, tau, colour, start = rays(rng, kernels.dtype, np.full(len(lengths), padded) if padded else lengths)
    if padded:
        tau.reshape(-1, padded)[np.arange(padded) >= lengths[:, None]] = 0
    out = kernels.composite(tau, colour, start)
    wb.check(out, reference.composite(tau, colour, start), 60 * kernels.unit, "composite")
    got = kernels.composite_backward(grad, out, tau, colour, start)
    want = reference.composite_backward(grad, tau, colour, start)
    for what, one, other in zip(("optical depth", "colour"), got, want, strict=True):
        wb.check(one, other, 400 * kernels.unit, f"composite_backward, {what}")


def profile(rng: np.random.Generator) -> None:
    """32 channels, so that a warp takes a point; then rays of 1 to 256 samples, and the same rays padded."""
    kernels, lengths = Kernels(np.float32), skewed(64)
    check_gelu(rng, kernels, 2**16)
    check_trilinear(rng, kernels, (16, 16, 16, 32), 1024, spread=True)
    check_composite(rng, kernels, lengths)
    check_composite(rng, kernels, lengths, 256)
    print("each kernel, as NumPy in float64, within the bounds")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator)
    else:
        check_gradients(generator)
        print("gradients in NumPy: within 1e-7 of central differences")
        for dtype in NAMES:
            kernels = Kernels(dtype)
            for n in (1, 255, 257, 5000):
                check_gelu(generator, kernels, n)
            for shape, count in (((2, 2, 2, 1), 1), ((3, 5, 4, 3), 37), ((6, 5, 4, 32), 75), ((3, 4, 5, 50), 21)):
                check_trilinear(generator, kernels, shape, count)
            for lengths in ([1], [0, 1, 31, 32, 33, 0], generator.integers(1, 257, 19)):
                check_composite(generator, kernels, np.array(lengths))
            check_composite(generator, kernels, skewed(11), 256)
            print(f"kernels in {NAMES[dtype]}: within the bounds of NumPy in float64")
