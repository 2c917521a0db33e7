"""The same three operators and their gradients in NumPy, in float64 and written another way."""

import itertools

import numpy as np


def gelu(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


# --8<-- [start:trilinear]
def trilinear(grid: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Interpolate along x, then along y, then along z: seven interpolations instead of eight weights."""
    cell, u = cells(grid, points)
    x, y, z = cell.T
    lerp = lambda a, b, t: a + t[:, None] * (b - a)  # noqa: E731
    edges = [[lerp(grid[z + k, y + j, x], grid[z + k, y + j, x + 1], u[:, 0]) for j in (0, 1)] for k in (0, 1)]
    return lerp(lerp(*edges[0], u[:, 1]), lerp(*edges[1], u[:, 1]), u[:, 2])


# --8<-- [end:trilinear]


def cells(grid: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    last = np.array(grid.shape[2::-1]) - 2
    cell = np.clip(np.floor(points), 0, last).astype(np.int64)
    return cell, points - cell


def trilinear_backward(grad: np.ndarray, grid: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By the derivatives of the seven interpolations; the sums over points in the order of the points."""
    cell, u = cells(grid, points)
    grid_grad, point_grad = np.zeros(grid.shape), np.zeros(points.shape)
    for (x, y, z), (a, b, c), g, slope in zip(cell, u, grad, point_grad, strict=True):
        cube = grid[z : z + 2, y : y + 2, x : x + 2] @ g  # the loss per unit of weight of each corner
        along = [np.array([1 - t, t]) for t in (a, b, c)]
        rise = np.array([-1.0, 1.0])
        slope[0] = np.einsum("kji,i,j,k", cube, rise, along[1], along[2])
        slope[1] = np.einsum("kji,i,j,k", cube, along[0], rise, along[2])
        slope[2] = np.einsum("kji,i,j,k", cube, along[0], along[1], rise)
        grid_grad[z : z + 2, y : y + 2, x : x + 2] += np.einsum("k,j,i,c->kjic", along[2], along[1], along[0], g)
    return grid_grad, point_grad


# --8<-- [start:composite]
def composite(tau: np.ndarray, colour: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Front to back, one sample after another."""
    out = np.zeros((len(start) - 1, 4))
    for ray, (first, end) in enumerate(itertools.pairwise(start)):
        light = 1.0
        for i in range(first, end):
            alpha = 1 - np.exp(-float(tau[i]))
            out[ray] += light * alpha * np.array([*colour[i], 1.0])
            light *= 1 - alpha
    return out


# --8<-- [end:composite]


def composite_backward(
    grad: np.ndarray, tau: np.ndarray, colour: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Back to front: what is behind a sample, as seen from there."""
    tau_grad, colour_grad = np.zeros(tau.shape), np.zeros(colour.shape)
    for g, first, end in zip(grad.astype(np.float64), start[:-1], start[1:], strict=True):
        light = np.exp(-np.concatenate([[0.0], np.cumsum(tau[first:end].astype(np.float64))]))
        behind = np.zeros(4)
        for i in range(end - 1, first - 1, -1):
            seen, passes = np.array([*colour[i], 1.0]), np.exp(-float(tau[i]))
            tau_grad[i] = light[i - first] * passes * (g @ (seen - behind))
            colour_grad[i] = light[i - first] * (1 - passes) * g[:3]
            behind = (1 - passes) * seen + passes * behind
    return tau_grad, colour_grad


def slopes(function, at: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Central differences of a function whose result is one number."""
    found = np.zeros(at.shape)
    for i in np.ndindex(at.shape):
        shift = np.zeros(at.shape)
        shift[i] = step
        found[i] = (function(at + shift) - function(at - shift)) / (2 * step)
    return found
