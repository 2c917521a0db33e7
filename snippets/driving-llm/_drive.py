"""Short drives in lane coordinates: a bicycle model that steers to the middle of its lane and follows with the IDM."""

import math
from dataclasses import dataclass, fields

import numpy as np

STEPS, DT, WHEELBASE = 200, 0.05, 2.8
DESIRED, HEADWAY, STANDSTILL, ACCEL, COMFORT, HARDEST = 20.0, 1.2, 2.0, 1.5, 2.0, 8.0
PER_OFFSET, PER_HEADING, SHARPEST = 0.02, 0.4, 0.5
NEVER = 1 << 20
FREE, FOLLOW, BRAKE, CUT_IN = range(4)
NAMES = ("free road", "following", "lead car brakes", "cut-in")


# --8<-- [start:scenes]
@dataclass
class Scenes:
    """One number per drive. The lead car is in the lane from step `enters` on and brakes from step `brakes` on."""

    v: np.ndarray  # speed of our car
    y: np.ndarray  # its offset from the middle of the lane
    psi: np.ndarray  # its heading relative to the lane
    curvature: np.ndarray
    gap: np.ndarray  # bumper to bumper
    lead_v: np.ndarray
    hardness: np.ndarray  # the lead car's deceleration
    enters: np.ndarray
    brakes: np.ndarray
    kind: np.ndarray

    def take(self, at: np.ndarray | slice) -> "Scenes":
        return Scenes(*(getattr(self, field.name)[at] for field in fields(self)))


def draw(rng: np.random.Generator, n: int) -> Scenes:
    """Four kinds of scenes, in random order."""
    kind = rng.integers(0, 4, n).astype(np.int32)
    number = lambda low, high: rng.uniform(low, high, n).astype(np.float32)  # noqa: E731
    enters = np.select([kind == FREE, kind == CUT_IN], [NEVER, rng.integers(20, 80, n)], 0).astype(np.int32)
    brakes = np.where(kind == BRAKE, rng.integers(20, 100, n), NEVER).astype(np.int32)
    gap = np.where(kind == CUT_IN, number(0.5, 30), number(10, 50)).astype(np.float32)
    return Scenes(
        number(8, 22), number(-1, 1), number(-0.05, 0.05), number(-0.01, 0.01), gap, number(5, 20), number(2, 9),
        enters, brakes, kind,
    )  # fmt: skip


# --8<-- [end:scenes]


# --8<-- [start:rollout]
def idm(v: np.ndarray, gap: np.ndarray, lead_v: np.ndarray) -> np.ndarray:
    """Acceleration of the intelligent driver model, limited to what brakes can do."""
    wanted = STANDSTILL + np.maximum(0, v * HEADWAY + v * (v - lead_v) / (2 * math.sqrt(ACCEL * COMFORT)))
    return np.maximum(-HARDEST, ACCEL * (1 - (v / DESIRED) ** 4 - (wanted / gap) ** 2))


def roll_out(scenes: Scenes, dtype: type = np.float64, steps: int = STEPS) -> dict[str, np.ndarray]:
    """Drive all scenes. A drive that collides stops where it is; the gap is the smallest so far, at most 1000 m."""
    numbers = ("v", "y", "psi", "curvature", "gap", "lead_v", "hardness")
    v, y, psi, curvature, lead, lead_v, hardness = (getattr(scenes, name).astype(dtype) for name in numbers)
    s, least, hit = np.zeros_like(v), np.full_like(v, 1000), np.full(len(v), -1, np.int32)
    dt = dtype(DT)
    for t in range(steps):
        there = t >= scenes.enters
        arrives = t == scenes.enters  # a car that cuts in appears `gap` ahead of us, wherever we are by then
        lead = np.where(arrives, s + scenes.gap, lead)
        gap = np.where(there, lead - s, dtype(1e6))
        hit = np.where((gap <= 0) & (hit < 0), t, hit)
        going = hit < 0
        least = np.where(going, np.minimum(least, gap), least)
        accel = idm(v, np.maximum(gap, dtype(0.1)), lead_v)
        steer = np.clip(WHEELBASE * curvature - PER_OFFSET * y - PER_HEADING * psi, -SHARPEST, SHARPEST)
        v = np.where(going, np.maximum(0, v + accel * dt), v)
        s = np.where(going, s + v * np.cos(psi) * dt, s)
        y = np.where(going, y + v * np.sin(psi) * dt, y)
        psi = np.where(going, psi + v * (np.tan(steer) / dtype(WHEELBASE) - curvature) * dt, psi)
        lead_v = np.where(t >= scenes.brakes, np.maximum(0, lead_v - hardness * dt), lead_v)
        lead = lead + lead_v * dt
    return {"s": s, "y": y, "v": v, "gap": least, "hit": hit}


# --8<-- [end:rollout]
