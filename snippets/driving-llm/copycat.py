"""A policy that learns to copy the lead car: right on recorded scenes, lost as soon as that car is moved by a coin."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import math

import numpy as np
import warpbench as wb

SEEDS, SCENES, AGREES, SET_SHARE = range(20), 100_000, 0.97, 0.2
T95 = 2.093024  # Student's t, 19 degrees of freedom, both sides together 5 %
COLUMNS = {"copycat": [0, 1, 2], "masked": [0, 2], "varied": [0, 1, 2]}  # light, lead car, constant


# --8<-- [start:scenes]
def scenes(rng: np.random.Generator, n: int, set_by_coin: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """What the policy reads, and whether the expert goes. The expert looks at the light and at nothing else."""
    green = rng.choice([-1.0, 1.0], n)
    reading = green + rng.standard_normal(n)  # the camera's view of the light
    lead = np.where(rng.random(n) < AGREES, green, -green)  # +1: the lead car has moved
    by_coin = rng.random(n) < set_by_coin
    lead = np.where(by_coin, rng.choice([-1.0, 1.0], n), lead)
    return np.stack([reading, lead, np.ones(n)], 1), green > 0


def fit(x: np.ndarray, goes: np.ndarray) -> np.ndarray:
    """Logistic regression by Newton's method."""
    w = np.zeros(x.shape[1])
    for _ in range(8):
        p = 1 / (1 + np.exp(-(x @ w)))
        w += np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x, x.T @ (goes - p))
    return w


# --8<-- [end:scenes]


def percent(w: np.ndarray, x: np.ndarray, goes: np.ndarray) -> float:
    return 100 * float(((x @ w > 0) == goes).mean())


def normal(z: float) -> float:
    return (1 + math.erf(z / math.sqrt(2))) / 2


def by_theory() -> dict[str, float]:
    """The Bayes rule reads 2 · reading ± ln(q / (1 - q)); what it gets right, in per cent."""
    shift = math.log(AGREES / (1 - AGREES)) / 2
    follows, opposes = normal(1 + shift), normal(1 - shift)
    return {
        "copycat.seen": 100 * (AGREES * follows + (1 - AGREES) * opposes),
        "copycat.set": 50 * (follows + opposes),
        "copycat.waits": 100 * (1 - opposes),
        "masked.seen": 100 * normal(1),
        "masked.set": 100 * normal(1),
    }


def one_seed(seed: int) -> dict[str, float]:
    rng = np.random.default_rng((seed, 21))
    tests = {"seen": scenes(rng, SCENES), "set": scenes(rng, SCENES, 1.0)}
    found = {}
    for name, columns in COLUMNS.items():
        x, goes = scenes(rng, SCENES, SET_SHARE if name == "varied" else 0.0)
        w = fit(x[:, columns], goes)
        for test, (seen, right) in tests.items():
            found[f"{name}.{test}"] = percent(w, seen[:, columns], right)
        found[f"{name}.light"], found[f"{name}.lead"] = w[0], w[1] if name != "masked" else 0.0
        first = tests["set"][0][(tests["set"][0][:, 1] < 0) & tests["set"][1]]  # green, and nobody ahead has moved
        found[f"{name}.waits"] = 100 * float((first[:, columns] @ w <= 0).mean())
    return found


if __name__ == "__main__":
    wb.measure_cpu()
    every = [one_seed(seed) for seed in SEEDS]
    mean, reach = {}, {}
    for name in every[0]:
        numbers = np.array([found[name] for found in every])
        mean[name], reach[name] = numbers.mean(), T95 * numbers.std(ddof=1) / math.sqrt(len(numbers))
        unit = "1" if name.endswith(("light", "lead")) else "%"
        wb.value(name, mean[name], unit, (mean[name] - reach[name], mean[name] + reach[name]))
    for name, want in by_theory().items():
        wb.check(mean[name], want, 0.3, name)
    drop = np.array([found["copycat.seen"] - found["copycat.set"] for found in every])
    wb.value(
        "copycat.loss", drop.mean(), "%", tuple(drop.mean() + T95 * drop.std(ddof=1) / math.sqrt(20) * np.r_[-1, 1])
    )
    print(f"{'':10}{'recorded':>10}{'by coin':>10}{'stays at green':>16}{'light':>8}{'lead':>8}   (20 seeds)")
    for name in COLUMNS:
        seen, by_coin, waits = (mean[f"{name}.{what}"] for what in ("seen", "set", "waits"))
        weights = f"{mean[f'{name}.light']:8.2f}{mean[f'{name}.lead']:8.2f}"
        print(f"{name:10}{seen:8.1f} %{by_coin:8.1f} %{waits:14.1f} %{weights}")
    print("the accuracies are within 0.3 points of the Bayes rule's")
