"""The layers and their gradients in float64, in another form than in the kernels; and slopes of the forward passes."""

from collections.abc import Callable

import numpy as np

EPSILON = 1e-5
KAPPA, CUBIC = np.sqrt(2 / np.pi), 0.044715

Array = np.ndarray


# --8<-- [start:slopes]
def slopes(f: Callable[[Array], float], x: Array, h: float = 1e-5) -> Array:
    """df/dx for every element of x, by central differences of fourth order in float64."""
    x = x.astype(np.float64)
    found = np.empty_like(x)
    for i in np.ndindex(x.shape):
        kept, at = x[i], {}
        for steps in (-2, -1, 1, 2):
            x[i] = kept + steps * h
            at[steps] = f(x)
        x[i] = kept
        found[i] = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
    return found


# --8<-- [end:slopes]


def layernorm(x: Array, gamma: Array, beta: Array) -> Array:
    x = x.astype(np.float64)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPSILON) * gamma + beta


def rmsnorm(x: Array, gamma: Array) -> Array:
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * gamma


# --8<-- [start:norms]
def layernorm_backward(dy: Array, x: Array, gamma: Array) -> tuple[Array, Array, Array]:
    """Through the graph node by node: normalised x, variance, mean. The kernel uses the closed form instead."""
    x, dy = x.astype(np.float64), dy.astype(np.float64)
    n = x.shape[-1]
    centred = x - x.mean(-1, keepdims=True)
    inner = (centred**2).mean(-1, keepdims=True) + EPSILON
    d_normal = dy * gamma
    d_inner = -0.5 * (d_normal * centred).sum(-1, keepdims=True) * inner**-1.5
    d_centred = d_normal / np.sqrt(inner) + 2 * centred / n * d_inner
    dx = d_centred - d_centred.sum(-1, keepdims=True) / n
    return dx, (dy * centred / np.sqrt(inner)).sum(0), dy.sum(0)


def rmsnorm_backward(dy: Array, x: Array, gamma: Array) -> tuple[Array, Array]:
    x, dy = x.astype(np.float64), dy.astype(np.float64)
    inner = (x * x).mean(-1, keepdims=True) + EPSILON
    d_normal = dy * gamma
    d_inner = -0.5 * (d_normal * x).sum(-1, keepdims=True) * inner**-1.5
    return d_normal / np.sqrt(inner) + 2 * x / x.shape[-1] * d_inner, (dy * x / np.sqrt(inner)).sum(0)


# --8<-- [end:norms]


def gelu(x: Array) -> Array:
    x = x.astype(np.float64)
    return 0.5 * x * (1 + np.tanh(KAPPA * (x + CUBIC * x**3)))


def gelu_backward(dy: Array, x: Array) -> Array:
    """With tanh; the kernel has the logistic function."""
    x = x.astype(np.float64)
    t = np.tanh(KAPPA * (x + CUBIC * x**3))
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * KAPPA * (1 + 3 * CUBIC * x * x))


# --8<-- [start:loss]
def wanted(label: Array, n: int, smoothing: float) -> Array:
    """The distribution that each row should have; nothing for a row to ignore."""
    q = np.full((len(label), n), smoothing / n)
    q[np.arange(len(label)), np.maximum(label, 0)] += 1 - smoothing
    return q * (label >= 0)[:, None]


def losses(logits: Array, label: Array, smoothing: float = 0) -> Array:
    """The cross-entropy of each row: minus the sum of q log p. The kernel never takes the logarithm of a p."""
    x = logits.astype(np.float64)
    log_p = x - np.logaddexp.reduce(x, axis=-1, keepdims=True)
    q = wanted(label, x.shape[-1], smoothing)
    return -np.multiply(q, log_p, where=q > 0, out=np.zeros_like(x)).sum(-1)  # 0 log 0 is 0


def losses_backward(logits: Array, label: Array, weight: float, smoothing: float = 0) -> Array:
    x = logits.astype(np.float64)
    p = np.exp(x - np.logaddexp.reduce(x, axis=-1, keepdims=True))
    return ((p - wanted(label, x.shape[-1], smoothing)) * weight) * (label >= 0)[:, None]


# --8<-- [end:loss]


# --8<-- [start:adamw]
def adamw(p: Array, gradients: list[Array], rate: float, beta1: float, beta2: float, decay: float,
          epsilon: float) -> Array:  # fmt: skip
    """Parameters after these steps. The averages are sums over all past gradients with weights that add up to 1."""
    p = p.astype(np.float64)
    for t in range(1, len(gradients) + 1):
        back = np.arange(t)[::-1]
        of_1, of_2 = (beta**back / (beta**back).sum() for beta in (beta1, beta2))
        mean = sum(w * g.astype(np.float64) for w, g in zip(of_1, gradients[:t], strict=True))
        square = sum(w * g.astype(np.float64) ** 2 for w, g in zip(of_2, gradients[:t], strict=True))
        p = p - rate * decay * p - rate * mean / (np.sqrt(square) + epsilon)
    return p


# --8<-- [end:adamw]
