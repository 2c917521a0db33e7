"""Keep to the lane in spite of one's own slips: a cloned policy, a corrected one, and how their mistakes grow."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import math

import numpy as np
import warpbench as wb

POLICIES, ROUNDS, DRIVES, STEPS = 20, 20, 40, 400  # either kind learns from ROUNDS · DRIVES · STEPS labels
HORIZONS = [25, 50, 100, 200, 400, 800]
TESTS, SLIP = 500, 1e-3  # drives per policy; chance per step that a learner slips
V, DT, WHEELBASE, EDGE = 20.0, 0.05, 2.8, 3.0
ROWS, COLUMNS, DY, DPSI = 64, 24, 0.1, 0.01
T95 = 2.093024  # Student's t, 19 degrees of freedom, both sides together 5 %
TOLERANCE = math.radians(0.25)


# --8<-- [start:world]
def expert(y: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """Steer to the middle of the lane. The expert never slips."""
    return np.clip(-0.02 * y - 0.4 * psi, -0.1, 0.1)


def step(
    rng: np.random.Generator, y: np.ndarray, psi: np.ndarray, steer: np.ndarray, slip: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bicycle model at constant speed on a rough road. A slip turns the car by 2 to 5 degrees; who slipped."""
    psi = psi + V / WHEELBASE * np.tan(steer) * DT + 1e-3 * rng.standard_normal(y.shape)
    slips = rng.random(y.shape) < slip
    psi[slips] += rng.choice([-1, 1], slips.sum()) * rng.uniform(0.03, 0.08, slips.sum())
    return y + V * np.sin(psi) * DT, psi, slips


# --8<-- [end:world]


# --8<-- [start:learner]
class Tables:
    """A table per policy: for each cell of offset and heading the mean of the expert's labels, else straight ahead."""

    def __init__(self, policies: int) -> None:
        self.total, self.count = np.zeros((2, policies * ROWS * COLUMNS))

    def cell(self, y: np.ndarray, psi: np.ndarray) -> np.ndarray:
        row = np.clip(np.floor(y / DY) + ROWS // 2, 0, ROWS - 1)
        column = np.clip(np.floor(psi / DPSI) + COLUMNS // 2, 0, COLUMNS - 1)
        return ((np.arange(len(y))[:, None] * ROWS + row) * COLUMNS + column).astype(np.int64)

    def learn(self, y: np.ndarray, psi: np.ndarray) -> None:
        at = self.cell(y, psi).ravel()
        self.total += np.bincount(at, expert(y, psi).ravel(), len(self.total))
        self.count += np.bincount(at, None, len(self.count))

    def steer(self, y: np.ndarray, psi: np.ndarray) -> np.ndarray:
        return (self.total / np.maximum(1, self.count))[self.cell(y, psi)]


def train(rng: np.random.Generator, corrected: bool) -> Tables:
    """Cloned: every drive by the expert. Corrected: after the first round the learner drives, and the expert labels."""
    tables = Tables(POLICIES)
    for turn in range(ROUNDS):
        y, psi, seen = np.zeros((POLICIES, DRIVES)), np.zeros((POLICIES, DRIVES)), []
        for _ in range(STEPS):
            seen.append((y, psi))
            if corrected and turn:
                y, psi, _ = step(rng, y, psi, tables.steer(y, psi), SLIP)
            else:
                y, psi, _ = step(rng, y, psi, expert(y, psi))
            off = np.abs(y) > EDGE
            y, psi = np.where(off, 0, y), np.where(off, 0, psi)  # put back on the lane
        tables.learn(*(np.concatenate(part, 1) for part in zip(*seen, strict=True)))
    return tables


# --8<-- [end:learner]


def test(rng: np.random.Generator, tables: Tables) -> tuple[np.ndarray, np.ndarray]:
    """By horizon and policy, steps per drive that slip or steer unlike the expert; in %, drives that leave the lane."""
    y, psi, wrong = np.zeros((3, POLICIES, TESTS))
    left, found = np.zeros((POLICIES, TESTS), bool), []
    for t in range(1, HORIZONS[-1] + 1):
        steer = tables.steer(y, psi)
        differs = np.abs(steer - expert(y, psi)) > TOLERANCE
        y, psi, slips = step(rng, y, psi, steer, SLIP)
        wrong += differs | slips
        left |= np.abs(y) > 1.5
        if t in HORIZONS:
            found.append(wrong.mean(1))
    return np.array(found), 100 * left.mean(1)


def ends(numbers: np.ndarray) -> tuple[float, float, float]:
    """The mean over the policies, and a 95 % interval for it."""
    reach = T95 * numbers.std(ddof=1) / math.sqrt(len(numbers))
    return float(numbers.mean()), float(numbers.mean() - reach), float(numbers.mean() + reach)


def check_table(rng: np.random.Generator) -> None:
    y, psi = rng.normal(0, [[[0.5]], [[0.02]]], (2, 3, 1000))
    tables = Tables(3)
    tables.learn(y, psi)
    wb.check(tables.steer(y, psi), expert(y, psi), 0.02 * DY + 0.4 * DPSI, "a label from within the cell")


if __name__ == "__main__":
    wb.measure_cpu()
    check_table(np.random.default_rng())
    print(f"{'mistakes within':16}" + "".join(f"{t:8}" for t in HORIZONS) + " steps")
    for name, corrected in (("cloned", False), ("corrected", True)):
        rng = np.random.default_rng((7, corrected))
        tables = train(rng, corrected)
        found, left = test(rng, tables)
        mean, low, high = np.array([ends(numbers) for numbers in found]).T
        wb.series(
            f"{name}.growth", HORIZONS, mean, x_unit="count", unit="count", low=np.maximum(low, mean / 50), high=high
        )
        slopes = np.polyfit(np.log(HORIZONS), np.log(np.maximum(found, 1e-3)), 1)[0]
        for what, numbers, unit in (("exponent", slopes, "1"), ("mistakes", found[-1], "count"), ("left", left, "%")):
            middle, least, most = ends(numbers)
            wb.value(f"{name}.{what}", middle, unit, (least, most))
        print(f"{name:16}" + "".join(f"{steps:8.3f}" for steps in mean))
        print(f"{'':16}exponent {slopes.mean():.2f}, {left.mean():.1f} % leave the lane")
