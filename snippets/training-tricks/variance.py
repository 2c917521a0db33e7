"""The mean square of a signal through 50 layers with ReLU, for four variances of the weights; ten networks each."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
import warpbench as wb
from _intervals import interval

SEEDS, DEPTH, WIDTH, IMAGES = range(10), 50, 256, 16
GAINS = {"kaiming": 2.0, "xavier": 1.0, "small": 0.5, "large": 4.5}  # variance of a weight times its fan-in


# --8<-- [start:signal]
def signal(seed: int, gain: float) -> np.ndarray:
    """The mean square before the ReLU of each layer, over that of the first one."""
    rng = np.random.default_rng((seed, 3))
    x, squares = rng.standard_normal((IMAGES, WIDTH)), []
    for _ in range(DEPTH):
        z = x @ (rng.standard_normal((WIDTH, WIDTH)) * np.sqrt(gain / WIDTH))
        squares.append((z**2).mean())
        x = np.maximum(z, 0)
    return np.array(squares) / squares[0]


# --8<-- [end:signal]


if __name__ == "__main__":
    wb.measure_cpu()
    for name, gain in GAINS.items():
        found = np.array([signal(seed, gain) for seed in SEEDS])
        logs = [interval(column) if i else (0.0, 0.0, 0.0) for i, column in enumerate(np.log(found).T)]
        y, low, high = np.exp(np.array(logs).T)  # of the geometric mean over seeds
        wb.series(f"{name}.square", range(1, DEPTH + 1), y, x_unit="count", unit="1", low=low, high=high)
        factors = found[:, 1:] / found[:, :-1]
        per_layer, low, high = interval(factors.mean(1))
        wb.value(f"{name}.factor", per_layer, "1", (low, high))
        wb.value(f"{name}.last", float(y[-1]), "1")
        assert abs(per_layer / (gain / 2) - 1) < 0.1, f"{name}: {per_layer} per layer, and theory says {gain / 2}"
        print(f"{name:8} a layer multiplies the mean square by {gain / 2}, within a tenth, on {len(found)} seeds")
