"""What habits of reporting make of two programs that are equally fast, in thousands of simulated experiments."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import time

import numpy as np
import warpbench as wb
from scipy import stats

SEED, EXPERIMENTS = 25, 4000
NOISE = 0.05  # standard deviation of a run, as a share of its mean
BENCHMARKS, SPREAD = 12, 0.5  # of a suite; standard deviation of the logarithm of a benchmark's ratio
RUNS, VARIANTS = 20, 10
CHUNKS, DEFAULT = 2 ** np.arange(8, 21), 2**12
NORMAL = float(stats.norm.ppf(0.975))


# --8<-- [start:means]
def means_of_ratios(rng: np.random.Generator) -> None:
    """A suite in which each program wins as much as it loses: the mean of the ratios makes either one the faster."""
    logs = SPREAD * rng.standard_normal((EXPERIMENTS, BENCHMARKS))
    logs -= logs.mean(1, keepdims=True)  # their geometric mean is 1
    for name, ratios in (("ours", np.exp(logs)), ("theirs", np.exp(-logs))):
        wb.value(f"mean.{name}", float(ratios.mean(1).mean()), "1")
    geometric = np.exp(logs.mean(1))
    wb.check(geometric, 1 / np.exp(-logs.mean(1)), 1e-12, "the geometric mean of the ratios turned round")


# --8<-- [end:means]


# --8<-- [start:best]
def best_of_runs(rng: np.random.Generator) -> None:
    """The best of our runs against the mean of theirs; then the best of ten variants against one."""
    ours, theirs = 1 + NOISE * rng.standard_normal((2, EXPERIMENTS, RUNS))
    wb.value("best.run", float((theirs.mean(1) / ours.min(1)).mean()), "1")
    variants = 1 + NOISE * rng.standard_normal((EXPERIMENTS, VARIANTS))
    baseline = 1 + NOISE * rng.standard_normal(EXPERIMENTS)
    wb.value("best.variant", float((baseline / variants.min(1)).mean()), "1")


# --8<-- [end:best]


# --8<-- [start:seeds]
def stop_when_significant(rng: np.random.Generator, first: int = 5, most: int = 50) -> None:
    """Add a seed until the 95 % interval of the difference leaves out zero, though there is no difference."""
    found = rng.standard_normal((EXPERIMENTS, most))
    n = np.arange(1, most + 1)
    mean = found.cumsum(1) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(((found**2).cumsum(1) / n - mean**2) / (n - 1))
    claimed = np.abs(mean) > stats.t.ppf(0.975, np.maximum(n - 1, 1)) * error
    wb.value("seeds.once", float(100 * claimed[:, first - 1].mean()), "%")
    wb.value("seeds.until", float(100 * claimed[:, first - 1 :].any(1).mean()), "%")


# --8<-- [end:seeds]


# --8<-- [start:overlap]
def overlapping(rng: np.random.Generator, runs: int = 100, apart: float = 3.3) -> None:
    """Two means that are `apart` standard errors apart: how often each way of looking sees a difference."""
    a = rng.standard_normal((EXPERIMENTS, runs))
    b = rng.standard_normal((EXPERIMENTS, runs)) + apart / np.sqrt(runs)
    error = [x.std(1, ddof=1) / np.sqrt(runs) for x in (a, b)]
    gap = b.mean(1) - a.mean(1)
    separate = gap > NORMAL * (error[0] + error[1])
    different = gap > NORMAL * np.hypot(*error)
    wb.value("overlap.separate", float(100 * separate.mean()), "%")
    wb.value("overlap.different", float(100 * different.mean()), "%")
    wb.value("overlap.missed", float(100 * (different & ~separate).mean()), "%")


# --8<-- [end:overlap]


# --8<-- [start:tuning]
def sum_of_squares(x: np.ndarray, chunk: int) -> float:
    """In chunks, each of which makes a temporary array."""
    return float(sum((part * part).sum() for part in np.split(x, range(chunk, len(x), chunk))))


def tune(rng: np.random.Generator) -> None:
    """The same program as baseline, in chunks of 4096, and as new method, with the best of thirteen chunk sizes."""
    x = rng.standard_normal(1 << 20)
    seconds = np.full(len(CHUNKS), np.inf)
    for _ in range(7):
        for i, chunk in enumerate(CHUNKS):
            start = time.perf_counter()
            total = sum_of_squares(x, chunk)
            seconds[i] = min(seconds[i], time.perf_counter() - start)
            wb.check(total, np.dot(x, x), 1e-9 * len(x), "sum of squares")
    wb.value("tuning.gain", float(seconds[CHUNKS == DEFAULT][0] / seconds.min()), "1")


# --8<-- [end:tuning]


if __name__ == "__main__":
    wb.measure_cpu()
    generator = np.random.default_rng(SEED)
    for experiment in (means_of_ratios, best_of_runs, stop_when_significant, overlapping, tune):
        experiment(generator)
    wb.value("truth", 1.0, "1")
    print(f"six habits, {EXPERIMENTS} experiments each")
