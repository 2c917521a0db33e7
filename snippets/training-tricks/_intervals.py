"""Student's t without SciPy: intervals for the mean of a few numbers."""

import math

import numpy as np


# --8<-- [start:student]
def student(share: float, freedom: int) -> float:
    """The t that a variable of Student's distribution stays below with probability `share` (above 1/2)."""
    constant = math.gamma((freedom + 1) / 2) / (math.sqrt(freedom * math.pi) * math.gamma(freedom / 2))
    t = np.linspace(0, 100, 400_001)
    density = constant * (1 + t * t / freedom) ** (-(freedom + 1) / 2)
    below = 0.5 + np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2) * (t[1] - t[0])])
    return float(np.interp(share, below, t))


def interval(numbers: np.ndarray, confidence: float = 0.95, together: int = 1) -> tuple[float, float, float]:
    """Mean, low and high end. With `together` intervals, all of them hold at once with this confidence (Bonferroni)."""
    n = len(numbers)
    reach = student(1 - (1 - confidence) / (2 * together), n - 1) * numbers.std(ddof=1) / math.sqrt(n)
    return float(numbers.mean()), float(numbers.mean() - reach), float(numbers.mean() + reach)


# --8<-- [end:student]
