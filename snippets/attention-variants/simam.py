"""SimAM's energy: its closed form against a numerical minimum, what misprints of it cost, and the kernel.

python simam.py   the same anywhere
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

try:
    from scipy.optimize import minimize
except ImportError:
    minimize = None

BLOCK, PENALTY = 256, 1e-4


# --8<-- [start:energy]
def energy(w: float, b: float, t: float, others: np.ndarray, penalty: float) -> float:
    """How badly w x + b says +1 for the number t and -1 for the others of its plane."""
    return (1 - (w * t + b)) ** 2 + np.mean((-1 - (w * others + b)) ** 2) + penalty * w**2


def minimum(t: float, others: np.ndarray, penalty: float) -> tuple[float, float, float]:
    """w, b and the energy where it is least, by the closed form."""
    mean, variance = others.mean(), others.var()
    below = (t - mean) ** 2 + 2 * variance + 2 * penalty
    w = 2 * (t - mean) / below
    return w, -w * (t + mean) / 2, 4 * (variance + penalty) / below


# --8<-- [end:energy]


def solved(t: float, others: np.ndarray, penalty: float) -> np.ndarray:
    """The same by another way: the energy is a sum of squares, so (w, b) solves two linear equations."""
    n = len(others)
    rows = np.concatenate([[t], others, [np.sqrt(penalty)]])
    ones = np.concatenate([[1.0], np.ones(n), [0.0]])
    weight = np.sqrt(np.concatenate([[1.0], np.full(n, 1 / n), [1.0]]))
    target = np.concatenate([[1.0], -np.ones(n), [0.0]])
    return np.linalg.lstsq(np.stack([rows, ones], 1) * weight[:, None], target * weight, rcond=None)[0]


def check(rng: np.random.Generator) -> None:
    worst = 0.0
    for _ in range(50):
        plane, penalty = rng.normal(rng.normal(), 1, 30), 10 ** rng.uniform(-4, 0)
        t, others = plane[0], plane[1:]
        w, b, least = minimum(t, others, penalty)
        wb.check(np.array([w, b]), solved(t, others, penalty), 1e-8, "w and b against linear equations")
        wb.check(least, energy(w, b, t, others, penalty), 1e-10, "the least energy")
        if minimize is not None:
            found = minimize(lambda at, t=t, o=others, p=penalty: energy(*at, t, o, p), (0.0, 0.0), tol=1e-10)
            worst = max(worst, wb.check(found.fun, least, 1e-6, "the least energy against SciPy's"))
    how = f"SciPy's minimum within {worst:.0%} of 1e-6" if minimize is not None else "SciPy is not there: not asked"
    print(f"50 planes: w, b and energy as least squares say; {how}")


def misprints(rng: np.random.Generator) -> None:
    """What other spellings of the formulas give for one number: each would be the least energy if it were right."""
    plane, penalty = rng.normal(1, 1, 64), 1e-4
    t, others = plane[0], plane[1:]
    w, b, least = minimum(t, others, penalty)
    mean = others.mean()
    wrong = {
        "w with the other sign": energy(-w, -b, t, others, penalty),
        "b with t − μ": energy(w, -w * (t - mean) / 2, t, others, penalty),
        "μ² in place of σ²": 4 * (mean**2 + penalty) / ((t - mean) ** 2 + 2 * mean**2 + 2 * penalty),
    }
    print(f"least energy: {least:.4f}")
    for name, value in wrong.items():
        print(f"{name:24}{value:9.4f}")
        if not abs(value - least) > 1e-3:
            raise AssertionError(f"{name} makes no difference here")


def kernel(rng: np.random.Generator) -> None:
    """The kernel takes one mean and one variance for a whole plane; how far is that from each number's own?"""
    launch = wb.module("attention-variants/channel.cu", BLOCK=BLOCK).get_function("simam")
    for size in (49, 3136):
        plane = rng.normal(1, 2, size).astype(np.float32)
        y = np.full_like(plane, np.nan)
        numbers = np.int32(size), np.float32(PENALTY)
        launch(cuda.In(plane), cuda.InOut(y), *numbers, block=(BLOCK, 1, 1), grid=(1, 1))
        wide = plane.astype(np.float64)
        own = np.array([minimum(t, np.delete(wide, i), PENALTY)[2] for i, t in enumerate(wide)])
        variance = wide.var(ddof=1)
        shared = 4 * (variance + PENALTY) / ((wide - wide.mean()) ** 2 + 2 * variance + 2 * PENALTY)
        wb.check(y, wide / (1 + np.exp(-1 / shared)), 1e-5 * (1 + np.abs(wide)), "the kernel")
        apart = np.abs(1 / (1 + np.exp(-1 / shared)) - 1 / (1 + np.exp(-1 / own))).max()
        print(f"a plane of {size}: as in float64; with statistics of their own, weights differ by {apart:.1%} at most")


if __name__ == "__main__":
    check(np.random.default_rng())
    kernel(np.random.default_rng())
    misprints(np.random.default_rng(8))
