"""Open loop and closed loop: a planner that keeps its speed and looks at nothing, beside one that sees the lead car."""

import math

import numpy as np
import warpbench as wb
from _drive import DT, idm

SEEDS, LOGS = range(20), 2000
AT = [20, 40, 60]  # steps: 1, 2 and 3 seconds
LONG = 160  # steps of the closed loop
SHARES = np.linspace(0, 1, 11)
T95 = 2.093024  # Student's t, 19 degrees of freedom, both sides together 5 %


# --8<-- [start:logs]
class Scene:
    """Cars that follow a lead car. In calm scenes it keeps its speed far ahead; in the others it brakes."""

    def __init__(self, rng: np.random.Generator, n: int, braking: bool) -> None:
        self.rng, self.n = rng, n
        self.v = rng.uniform(8, 18, n)
        self.gap = rng.uniform(15, 40, n) if braking else np.full(n, 1e4)
        self.lead_v = self.v + rng.normal(0, 0.5, n)
        self.hardness = rng.uniform(3, 6, n) if braking else np.zeros(n)
        self.wish = self.v / (1 - 1e-2) ** 0.25  # the speed at which the driver would hold this one on a free road
        self.x = np.zeros(n)

    def advance(self, accel: np.ndarray) -> None:
        self.v = np.maximum(0, self.v + accel * DT)
        self.x = self.x + self.v * DT
        self.lead_v = np.maximum(0, self.lead_v - self.hardness * DT)
        self.gap = self.gap + (self.lead_v - self.v) * DT


def follow(scene: Scene, v: np.ndarray, gap: np.ndarray, lead_v: np.ndarray) -> np.ndarray:
    """The IDM with this driver's desired speed."""
    return idm(v, np.maximum(gap, 0.1), lead_v) + 1.5 * ((v / 20) ** 4 - (v / scene.wish) ** 4)


def human(scene: Scene) -> np.ndarray:
    return follow(scene, scene.v, scene.gap, scene.lead_v) + scene.rng.normal(0, 0.3, scene.n)


def blind(scene: Scene) -> np.ndarray:
    """Keep the speed, which the car's own status gives exactly."""
    return np.zeros(scene.n)


def sighted(scene: Scene) -> np.ndarray:
    """The rule of the human, from what a camera sees: speeds within 0.5 m/s, gaps within 5 %."""
    seen = lambda x, error: x + error * scene.rng.standard_normal(scene.n)  # noqa: E731
    return follow(scene, seen(scene.v, 0.5), scene.gap * seen(1.0, 0.05), seen(scene.lead_v, 0.5))


# --8<-- [end:logs]


# --8<-- [start:scores]
def open_loop(rng: np.random.Generator, braking: bool) -> dict[str, float]:
    """Mean distance to where the human drove, over 1, 2 and 3 s: the planner plans once, from one look."""
    logs = Scene(rng, LOGS, braking)
    start = logs.v.copy(), logs.gap.copy(), logs.lead_v.copy()
    driven = []
    for _ in range(AT[-1]):
        logs.advance(human(logs))
        driven.append(logs.x)
    errors = {}
    for name in ("blind", "sighted"):
        plan = Scene(rng, LOGS, braking)
        plan.v, plan.gap, plan.lead_v = (part.copy() for part in start)
        plan.wish, plan.hardness = logs.wish, logs.hardness
        if name == "sighted":  # one look, with its errors; from there on the plan knows no more
            plan.v = np.maximum(0, plan.v + 0.5 * rng.standard_normal(LOGS))
            plan.gap = plan.gap * (1 + 0.05 * rng.standard_normal(LOGS))
            plan.lead_v = np.maximum(0, plan.lead_v + 0.5 * rng.standard_normal(LOGS))
            plan.hardness = plan.hardness * (1 + 0.2 * rng.standard_normal(LOGS))
        planned = []
        for _ in range(AT[-1]):
            plan.advance(blind(plan) if name == "blind" else follow(plan, plan.v, plan.gap, plan.lead_v))
            planned.append(plan.x)
        errors[name] = float(np.mean([np.abs(planned[t - 1] - driven[t - 1]).mean() for t in AT]))
    return errors


def closed_loop(rng: np.random.Generator) -> dict[str, float]:
    """Collisions in per cent of the braking scenes, when the planner drives and looks again at every step."""
    found = {}
    for name, planner in (("human", human), ("blind", blind), ("sighted", sighted)):
        scene, hit = Scene(rng, LOGS, True), np.zeros(LOGS, bool)
        for _ in range(LONG):
            scene.advance(planner(scene))
            hit |= scene.gap <= 0
        found[name] = 100 * float(hit.mean())
    return found


# --8<-- [end:scores]


def ends(numbers: list[float] | np.ndarray) -> tuple[float, float, float]:
    numbers = np.asarray(numbers)
    mean, reach = numbers.mean(), T95 * numbers.std(ddof=1) / math.sqrt(len(numbers))
    return float(mean), float(mean - reach), float(mean + reach)


if __name__ == "__main__":
    wb.measure_cpu()
    calm, hard, drives = [], [], []
    for seed in SEEDS:
        rng = np.random.default_rng((seed, 31))
        calm.append(open_loop(rng, False))
        hard.append(open_loop(rng, True))
        drives.append(closed_loop(rng))
    for name in ("blind", "sighted"):
        found = np.array([[(1 - h) * a[name] + h * b[name] for h in SHARES] for a, b in zip(calm, hard, strict=True)])
        columns = np.array([ends(column) for column in found.T])
        wb.series(
            f"{name}.error", 100 * SHARES, columns[:, 0], x_unit="%", unit="1", low=columns[:, 1], high=columns[:, 2]
        )
        for what, errors in (("calm", calm), ("hard", hard)):
            middle, low, high = ends([one[name] for one in errors])
            wb.value(f"{name}.{what}", middle, "1", (low, high))
            print(f"{name:8} {what}: {middle:.2f} m")
    saved = [a["sighted"] - a["blind"] for a in calm]
    lost = [b["blind"] - b["sighted"] for b in hard]
    middle, low, high = ends([100 * s / (s + x) for s, x in zip(saved, lost, strict=True)])
    wb.value("ego.crossing", middle, "%", (low, high))
    print(f"with fewer than {middle:.1f} % braking scenes, the blind planner has the smaller error")
    for name in ("human", "blind", "sighted"):
        middle, low, high = ends([one[name] for one in drives])
        wb.value(f"{name}.collisions", middle, "%", (low, high))
        print(f"{name:8} collides in {middle:.1f} % of the braking scenes")
