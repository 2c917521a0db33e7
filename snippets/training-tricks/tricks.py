"""Sixteen tricks on drawn digits, each with and without, on ten seeds; two sweeps. The gradients are checked first.

The settings were tuned on the seeds 100 to 109, and the predictions committed before the ten seeds were run.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported: these matrices are too small for two
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import warpbench as wb
from _intervals import interval, student
from _nets import Adam, Data, Nets, Setting, backward, exact, forward, half, loss, train

SEEDS = range(10)
RATES = [0.0125, 0.025, 0.05, 0.1, 0.2, 0.4]
SHIFTS = [0, 12, 16, 18, 20, 24]
TINY = 2.0**-20
FIRST = 2.0**16  # the loss scale that a dynamic one starts with
WORDS = {1: "helped", 0: "no difference", -1: "hurt"}


# --8<-- [start:trials]
@dataclass(frozen=True)
class Trial:
    """A trick: what it is compared with, and whether we expect it to help (1), change nothing (0) or hurt (-1)."""

    without: Setting
    trick: Setting
    predicted: int
    data: str = "clean"
    hidden: int = 2
    optimiser: type | None = None
    store: Callable = exact
    ema: float = 0.0


TRIALS = {
    "kaiming_shallow": Trial(Setting(gain=1), Setting(), 0),
    "kaiming_deep": Trial(Setting(gain=1, lr=0.025), Setting(lr=0.025), 1, hidden=10),
    "warmup_tuned": Trial(Setting(), Setting(warmup=0.1), 0),
    "warmup_high": Trial(Setting(lr=0.2), Setting(lr=0.2, warmup=0.3), 1),
    "decay_none": Trial(Setting(lr=0.01), Setting(lr=0.01, decay=0.3), 0, optimiser=Adam),
    "decay_l2": Trial(Setting(lr=0.01, l2=1e-3), Setting(lr=0.01, decay=0.3), 0, optimiser=Adam),
    "scaling_plain": Trial(Setting(), Setting(scale=FIRST, dynamic=True), 0, store=half),
    "scaling_tiny": Trial(Setting(shrink=TINY), Setting(shrink=TINY, scale=FIRST, dynamic=True), 1, store=half),
    "parts_equal": Trial(Setting(), Setting(parts=(8, 8, 8, 8)), 0),
    "parts_weighted": Trial(Setting(parts=(28, 4), weighted=False), Setting(parts=(28, 4)), 0),
    "clip_clean": Trial(Setting(), Setting(clip=2.0), 0),
    "clip_bright": Trial(Setting(), Setting(clip=1.0), 1, data="bright"),
    "ema_constant": Trial(Setting(cosine=False), Setting(cosine=False), 1, ema=0.98),
    "ema_cosine": Trial(Setting(), Setting(), 0, ema=0.98),
    "smoothing_clean": Trial(Setting(), Setting(smoothing=0.1), 0),
    "smoothing_wrong": Trial(Setting(), Setting(smoothing=0.1), 1, data="wrong"),
}
# --8<-- [end:trials]


# --8<-- [start:gradient]
def check_gradients(rng: np.random.Generator) -> None:
    """The backward pass beside finite differences, one parameter at a time, on a network with every kind of layer."""
    nets = Nets((64, 5, 4, 10), 2, 3)
    nets.start([rng] * 3, np.full((2, 1, 1, 1), 2.0))
    nets.flat += rng.normal(0, 0.1, nets.flat.shape)  # biases, too
    nets.grad[:] = np.nan
    x, target = rng.standard_normal((3, 6, 64)), rng.dirichlet(np.ones(10), (2, 3, 6))
    layers, out = nets.views(nets.flat), nets.views(nets.grad)
    backward(layers, out, forward(layers, x), target, np.ones((2, 1, 1, 1)))
    got, want, h = nets.grad.copy(), np.empty_like(nets.grad), 1e-6
    for i in range(nets.count):
        ends = []
        for step in (h, -2 * h):
            nets.flat[..., i] += step
            ends.append(loss(forward(layers, x)[-1], target))
        nets.flat[..., i] += h
        want[..., i] = (ends[0] - ends[1]) / (2 * h)
    wb.check(got, want, 1e-8, "gradient")
    print(f"{nets.count} parameters: each gradient within 1e-8 of finite differences")


# --8<-- [end:gradient]


def check_half(rng: np.random.Generator) -> None:
    """Our rounding to float16 beside NumPy's, from below the smallest subnormal to above the largest number."""
    x = rng.uniform(1, 2, 4000) * 2.0 ** rng.integers(-28, 17, 4000) * rng.choice([-1, 1], 4000)
    x = np.concatenate([x, [0, 65504, 65519.99, 65520, -65520, 2.0**-25, 1.5 * 2.0**-25, 1.5 * 2.0**-24]])
    with np.errstate(over="ignore"):
        want = x.astype(np.float16)
    assert np.array_equal(half(x), want), "float16"


def run(trial: Trial, data: Data) -> np.ndarray:
    """The accuracy with the trick minus the accuracy without, by seed."""
    more = {"hidden": trial.hidden, "store": trial.store}
    if trial.optimiser:
        more["optimiser"] = trial.optimiser
    if trial.ema:
        one = train([trial.trick], data, SEEDS, ema=trial.ema, **more)
        return (one["ema accuracy"] - one["accuracy"])[0]
    if trial.without.parts != trial.trick.parts or trial.without.weighted != trial.trick.weighted:
        base, trick = (train([s], data, SEEDS, **more)["accuracy"][0] for s in (trial.without, trial.trick))
    else:
        base, trick = train([trial.without, trial.trick], data, SEEDS, **more)["accuracy"]
    return trick - base


def verdict(low: float, high: float) -> int:
    return 1 if low > 0 else -1 if high < 0 else 0


def sweep(name: str, x: list[float], found: np.ndarray, x_unit: str, unit: str) -> None:
    ends = [interval(numbers) for numbers in found]
    y, low, high = zip(*ends, strict=True)
    wb.series(name, x, y, x_unit=x_unit, unit=unit, low=low, high=high)


def sweeps(data: Data) -> None:
    """Test loss over the learning rate, with warm-up and without; accuracy in float16 as gradients shrink."""
    both = train([Setting(lr=lr, warmup=w) for w in (0, 0.3) for lr in RATES], data, SEEDS)["loss"]
    for name, found in (("plain", both[: len(RATES)]), ("warm", both[len(RATES) :])):
        sweep(f"{name}.loss", RATES, found, "1", "1")
    settings = [Setting(shrink=2.0**-k) for k in SHIFTS]
    settings += [Setting(shrink=2.0**-k, scale=FIRST, dynamic=True) for k in SHIFTS]
    both = train(settings, data, SEEDS, store=half)["accuracy"]
    for name, found in (("unscaled", both[: len(SHIFTS)]), ("scaled", both[len(SHIFTS) :])):
        sweep(f"{name}.accuracy", SHIFTS, found, "count", "%")


if __name__ == "__main__":
    wb.measure_cpu()
    assert abs(student(0.975, 9) - 2.262157) < 1e-5, "a printed table has 2.262157"
    check_gradients(np.random.default_rng())
    check_half(np.random.default_rng())
    every = {"clean": Data.of(SEEDS), "bright": Data.of(SEEDS, bright=0.02), "wrong": Data.of(SEEDS, wrong=0.3)}
    base = train([Setting()], every["clean"], SEEDS)["accuracy"][0]
    mean, low, high = interval(base)
    wb.value("baseline.accuracy", mean, "%", (low, high))
    print(f"baseline {mean:.1f} %, interval {low:.1f} % to {high:.1f} %\n")
    print(f"{'':18}{'%':>8}{'low':>8}{'high':>8}   verdict")
    right, counts, alone = 0, {1: 0, 0: 0, -1: 0}, 0
    for name, trial in TRIALS.items():
        effect = run(trial, every[trial.data])
        mean, low, high = interval(effect, together=len(TRIALS))
        found = verdict(low, high)
        alone += verdict(*interval(effect)[1:]) != found
        right, counts[found] = right + (found == trial.predicted), counts[found] + 1
        wb.value(f"{name}.effect", mean, "%", (low, high))
        wb.value(f"{name}.seeds", len(effect), "count")
        wb.value(f"{name}.predicted", trial.predicted, "count")
        print(f"{name:18}{mean:8.1f}{low:8.1f}{high:8.1f}   {WORDS[found]}, predicted: {WORDS[trial.predicted]}")
    for name, number in (("helped", counts[1]), ("same", counts[0]), ("hurt", counts[-1]), ("foretold", right)):
        wb.value(f"trials.{name}", number, "count")
    wb.value("trials.alone", alone, "count")  # verdicts that an interval of its own would change
    wb.value("trials.all", len(TRIALS), "count")
    wb.value("trials.t", student(1 - 0.05 / (2 * len(TRIALS)), len(SEEDS) - 1), "1")
    sweeps(every["clean"])
