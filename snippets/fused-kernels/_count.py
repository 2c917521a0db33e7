"""What each step asks of memory if every operation is a launch of its own: the formulas, counted in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


# --8<-- [start:counted]
class Counted(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose operations note their launches, and the bytes that each reads and writes."""

    launches = nbytes = 0

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Counted:
        plain = [value.values if isinstance(value, Counted) else value for value in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        read = {id(value): value.nbytes for value in plain if isinstance(value, np.ndarray)}
        Counted.launches += 1
        Counted.nbytes += sum(read.values()) + result.nbytes
        return Counted(result)

    def mean(self) -> Counted:
        return Counted(np.add.reduce(self, axis=1, keepdims=True).values / np.float32(self.values.shape[1]))


# --8<-- [end:counted]


def layernorm(x: Any, gamma: Any, beta: Any) -> Any:
    d = x - x.mean()
    return d * (1 / np.sqrt((d * d).mean() + 1e-5)) * gamma + beta


def rmsnorm(x: Any, gamma: Any) -> Any:
    return x * (1 / np.sqrt((x * x).mean() + 1e-5)) * gamma


# --8<-- [start:backward]
def layernorm_backward(dy: Any, x: Any, gamma: Any, mean: Any, scale: Any) -> Any:
    normal = (x - mean) * scale
    g = dy * gamma
    dx = scale * (g - g.mean() - normal * (g * normal).mean())
    return dx, np.add.reduce(dy * normal, axis=0), np.add.reduce(dy, axis=0)


# --8<-- [end:backward]


def rmsnorm_backward(dy: Any, x: Any, gamma: Any, scale: Any) -> Any:
    normal = x * scale
    g = dy * gamma
    return scale * (g - normal * (g * normal).mean()), np.add.reduce(dy * normal, axis=0)


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def gelu_backward(dy: Any, x: Any) -> Any:
    t = np.tanh(0.7978845608 * (x + 0.044715 * x * x * x))
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (0.7978845608 * (1 + 3 * 0.044715 * x * x)))


def of(step: Callable[..., Any], *shapes: tuple[int, ...]) -> tuple[int, float]:
    """Launches, and bytes per element of the largest array, rounded as for long rows of many."""
    arrays = [Counted(np.ones(shape, np.float32)) for shape in shapes]
    Counted.launches = Counted.nbytes = 0
    step(*arrays)
    return Counted.launches, Counted.nbytes / max(a.values.size for a in arrays)
