"""How often a 95 % interval for a ratio of two means contains the true ratio, in thousands of simulated experiments.

Every experiment times two programs whose true ratio is known. The resamples of one size are shared by all experiments.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
import warpbench as wb
from scipy import stats

SEED, EXPERIMENTS, RESAMPLES = 24, 4000, 2000
RUNS = (5, 10, 20, 50, 100)
TRUE = 1.25
NORMAL = float(stats.norm.ppf(0.975))


# --8<-- [start:experiments]
def times(rng: np.random.Generator, n: int) -> np.ndarray:
    """(experiment, run), with a mean of 1: a floor, and a tail that leans to the right."""
    return (1 + rng.gamma(2.0, 0.02, (EXPERIMENTS, n))) / 1.04


def shares(rng: np.random.Generator, n: int) -> np.ndarray:
    """(run, resample): how often a resample holds each run, divided by n."""
    return rng.multinomial(n, np.full(n, 1 / n), RESAMPLES).T / n


def bootstrap(a: np.ndarray, b: np.ndarray, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the percentile interval of each experiment."""
    ratios = (a @ left) / (b @ right)
    low, high = np.quantile(ratios, [0.025, 0.975], axis=1)
    return low, high


# --8<-- [end:experiments]


# --8<-- [start:predicted]
def predicted(n: int) -> float:
    """From normal theory: the interval is sqrt((n - 1) / n) too narrow, and its ends are those of z where t belongs."""
    reach, freedom = NORMAL * np.sqrt((n - 1) / n), 2 * (n - 1)
    return float(100 * (2 * stats.t.cdf(reach, freedom) - 1))


# --8<-- [end:predicted]


def measure(rng: np.random.Generator) -> None:
    found, want = [], [predicted(n) for n in RUNS]
    for n, expected in zip(RUNS, want, strict=True):
        a, b = TRUE * times(rng, n), times(rng, n)
        low, high = bootstrap(a, b, shares(rng, n), shares(rng, n))
        covered = float(100 * np.mean((low <= TRUE) & (high >= TRUE)))
        found.append(covered)
        wb.value(f"coverage.n{n}", covered, "%")
        wb.value(f"coverage.predicted{n}", expected, "%")
        wb.value(f"width.n{n}", float(100 * np.median(high - low) / TRUE), "%")
        wb.check(covered, expected, 2.5, f"coverage at n = {n}")
    wb.series("coverage.found", RUNS, found, x_unit="count", unit="%")
    wb.series("coverage.theory", RUNS, want, x_unit="count", unit="%")
    wb.series("coverage.nominal", RUNS, [95.0] * len(RUNS), x_unit="count", unit="%")
    print(f"{EXPERIMENTS} experiments for each of {len(RUNS)} sizes: coverage within 2.5 points of theory")


# --8<-- [start:pairs]
def pairs(rng: np.random.Generator, n: int = 30) -> None:
    """Runs in pairs share a drift, such as a clock that sinks. Resample pairs, or throw the pairing away."""
    drift = 1 + 0.1 * rng.standard_normal((EXPERIMENTS, n))
    a, b = TRUE * drift * times(rng, n), drift * times(rng, n)
    together = shares(rng, n)
    for name, right in (("together", together), ("apart", shares(rng, n))):
        low, high = bootstrap(a, b, together, right)
        wb.value(f"pairs.{name}.coverage", float(100 * np.mean((low <= TRUE) & (high >= TRUE))), "%")
        wb.value(f"pairs.{name}.width", float(100 * np.median(high - low) / TRUE), "%")
    print(f"{n} pairs: resampled together and apart")


# --8<-- [end:pairs]


if __name__ == "__main__":
    wb.measure_cpu()
    generator = np.random.default_rng(SEED)
    measure(generator)
    pairs(generator)
