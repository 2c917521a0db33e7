"""Softmax of rows, right for any finite numbers: logits of ±1e4, equal ones, one that outweighs all."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, Sizes

BLOCK = 256


def logits(random, rows, n):
    """Rows of several kinds: small, far up, far down, ±1e4 mixed, equal, rising, with one that outweighs all."""
    normal = 3 * random.generator.standard_normal((rows, n))
    rising = np.linspace(-100, 100, n)
    kinds = [
        lambda r: normal[r],
        lambda r: normal[r] + 1e4,
        lambda r: normal[r] - 1e4,
        lambda r: random.generator.uniform(-1e4, 1e4, n),
        lambda r: np.full(n, normal[r, 0]),
        lambda r: rising,
        lambda r: np.where(np.arange(n) == n // 2, 200, normal[r]),
    ]
    first = int(random.generator.integers(len(kinds)))
    return np.array([kinds[(first + r) % len(kinds)](r) for r in range(rows)], np.float32)


def inputs(random, rows, n):
    return {"x": logits(random, rows, n), "n": n}


def reference(x, n):
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return {"y": e / e.sum(axis=1, keepdims=True)}


def scale(x, n):
    """Roundings of y: at most n in the sum, whatever its order, a few in exponential and quotient, and x - m rounds."""
    down = x.max(axis=1, keepdims=True) - x.astype(np.float64)
    return {"y": reference(x, n)["y"] * (2 + n / 4 + down)}


exercise = Exercise(
    kernel="void softmax(const float* x, float* y, int n)",
    sizes=Sizes(
        [(1, 1), (9, 1), (1, 2), (8, 3), (9, 31), (8, 32), (9, 33), (8, 255), (7, 256), (8, 257), (9, 519), (8, 1031)]
    ),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, n: Launch(grid=rows, block=BLOCK),
    roundings=4,
    scale=scale,
    budget=Budget(at=(8, 2048), bytes_loaded=200 << 10, instructions_per_warp=900),
)
