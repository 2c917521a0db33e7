"""Many small networks at once in NumPy: an array's first axes are the setting and the seed. All in float64."""

import functools
import itertools
from dataclasses import dataclass

import numpy as np
from _digits import draw

BATCH, STEPS, TRAIN, TEST, WIDTH = 32, 300, 1000, 1000, 32
WORST = np.log(10)  # the loss of a guess; a network that does no better counts as this


# --8<-- [start:setting]
@dataclass(frozen=True)
class Setting:
    """How one network is trained. What is left out here is the baseline."""

    lr: float = 0.05
    warmup: float = 0.0  # share of the steps
    cosine: bool = True  # let the rate fall to 0 along half a cosine
    gain: float = 2.0  # variance of a weight, times its fan-in: 2 is Kaiming's, 1 Xavier's
    l2: float = 0.0  # times w, added to the gradient
    decay: float = 0.0  # times the rate and w, subtracted from w
    clip: float = np.inf  # the largest global norm of a gradient
    smoothing: float = 0.0  # share of a label that is spread over all classes
    shrink: float = 1.0  # a power of two that makes the gradients in the backward pass as small as a larger network's
    scale: float = 1.0  # by which the loss is multiplied, and the gradients are divided
    dynamic: bool = False  # skip a step whose gradients overflow and halve the scale; double it after 20 good steps
    parts: tuple[int, ...] = (BATCH,)  # micro-batches
    weighted: bool = True  # whether micro-batches count by their size


# --8<-- [end:setting]


def column(settings: list[Setting], name: str, axes: int = 3) -> np.ndarray:
    """One number of each setting, as an array that broadcasts over seeds and the rest."""
    return np.array([getattr(s, name) for s in settings]).reshape(-1, *[1] * (axes - 1))


class Nets:
    """Perceptrons of one shape; `flat` has all parameters of a network in a row, `weights` and `biases` are views."""

    def __init__(self, shape: tuple[int, ...], settings: int, seeds: int) -> None:
        self.shape = shape
        self.count = sum(m * n + n for m, n in itertools.pairwise(shape))
        self.flat = np.zeros((settings, seeds, self.count))
        self.grad = np.zeros_like(self.flat)

    def views(self, flat: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        out, at, lead = [], 0, flat.shape[:-1]
        for m, n in itertools.pairwise(self.shape):
            weight = flat[..., at : at + m * n].reshape(*lead, m, n)
            out.append((weight, flat[..., at + m * n : at + m * n + n].reshape(*lead, 1, n)))
            at += m * n + n
        return out

    def start(self, rngs: list[np.random.Generator], gains: np.ndarray) -> None:
        """The same normal numbers for every setting of a seed, times its standard deviation; biases 0."""
        for weight, _ in self.views(self.flat):
            m, n = weight.shape[-2:]
            normal = np.stack([rng.standard_normal((m, n)) for rng in rngs])
            weight[:] = np.sqrt(gains / m) * normal


# --8<-- [start:backward]
def exact(x: np.ndarray) -> np.ndarray:
    return x


def half(x: np.ndarray) -> np.ndarray:
    """Rounded to float16, as if stored between two kernels. NumPy's own cast is 30 times slower below 2^-14."""
    power = np.maximum(np.abs(x), 2.0**-14).view(np.int64)
    power &= 0x7FF << 52
    large = power.view(np.float64)  # the power of two below |x| …
    large *= 1.5 * 2.0**42  # … times one that leaves ten bits behind the point of the sum
    rounded = x + large
    rounded -= large
    return np.where(np.abs(rounded) > 65504, np.copysign(np.inf, rounded), rounded)


def forward(layers: list, x: np.ndarray, store=exact) -> list[np.ndarray]:
    """The inputs of each layer, and the logits."""
    kept = [store(x)]
    for i, (weight, bias) in enumerate(layers):
        z = kept[-1] @ weight + bias
        kept.append(store(np.maximum(z, 0) if i + 1 < len(layers) else z))
    return kept


def softmax(logits: np.ndarray) -> np.ndarray:
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def loss(logits: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Cross-entropy, the mean over the batch."""
    z = logits - logits.max(-1, keepdims=True)
    return -(target * (z - np.log(np.exp(z).sum(-1, keepdims=True)))).sum(-1).mean(-1)


def backward(layers: list, out: list, kept: list, target: np.ndarray, times: np.ndarray, store=exact) -> None:
    """Write `times` the gradient of the loss into `out`, views like `layers`."""
    delta = store((softmax(kept[-1]) - target) * (times / target.shape[-2]))
    for i in reversed(range(len(layers))):
        weight, bias = out[i]
        weight[:] = store(np.swapaxes(kept[i], -1, -2) @ delta)
        bias[:] = store(delta.sum(-2, keepdims=True))
        if i:
            delta = store((delta @ np.swapaxes(layers[i][0], -1, -2)) * (kept[i] > 0))


# --8<-- [end:backward]


@functools.cache
def images(seed: int) -> tuple[tuple, tuple]:
    """A seed's digits to train with, and those to test with."""
    rng = np.random.default_rng((seed, 1))
    return draw(rng, TRAIN), draw(rng, TEST)


@dataclass
class Data:
    """The digits of each seed: images (seeds, count, 64), labels (seeds, count)."""

    train: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    truth: np.ndarray

    @classmethod
    def of(cls, seeds: range, wrong: float = 0.0, bright: float = 0.0) -> "Data":
        """`wrong` is the share of training labels that are random, `bright` of images 30 times as bright."""
        found = []
        for seed in seeds:
            (x, y), (tx, ty) = images(seed)
            rng = np.random.default_rng((seed, 6))
            y = np.where(rng.random(TRAIN) < wrong, rng.integers(0, 10, TRAIN), y)
            x = np.where(rng.random((TRAIN, 1)) < bright, 30 * x, x)
            found.append((x, y, tx, ty))
        return cls(*map(np.stack, zip(*found, strict=True)))


# --8<-- [start:steps]
def rate(settings: list[Setting], step: int, steps: int) -> np.ndarray:
    """The learning rate of each setting at one step."""
    lr, warmup, cosine = (column(settings, name) for name in ("lr", "warmup", "cosine"))
    ramp = np.minimum(1.0, (step + 1) / np.maximum(1.0, warmup * steps))
    return lr * ramp * np.where(cosine, (1 + np.cos(np.pi * step / steps)) / 2, 1.0)


class Momentum:
    """SGD with momentum 0.9."""

    def __init__(self, flat: np.ndarray) -> None:
        self.m = np.zeros_like(flat)

    def move(self, w: np.ndarray, g: np.ndarray, lr: np.ndarray, decay: np.ndarray) -> None:
        self.m *= 0.9
        self.m += g
        w *= 1 - lr * decay
        w -= lr * self.m


class Adam:
    """Adam; with `decay` AdamW."""

    def __init__(self, flat: np.ndarray, betas: tuple[float, float] = (0.9, 0.99), eps: float = 1e-8) -> None:
        self.m, self.v, self.t, self.betas, self.eps = np.zeros_like(flat), np.zeros_like(flat), 0, betas, eps

    def move(self, w: np.ndarray, g: np.ndarray, lr: np.ndarray, decay: np.ndarray) -> None:
        (b1, b2), self.t = self.betas, self.t + 1
        self.m += (1 - b1) * (g - self.m)
        self.v += (1 - b2) * (g * g - self.v)
        w *= 1 - lr * decay
        w -= lr * (self.m / (1 - b1**self.t)) / (np.sqrt(self.v / (1 - b2**self.t)) + self.eps)


# --8<-- [end:steps]


def train(
    settings: list[Setting],
    data: Data,
    seeds: range,
    *,
    hidden: int = 2,
    optimiser: type = Momentum,
    store=exact,
    ema: float = 0.0,
    steps: int = STEPS,
) -> dict[str, np.ndarray]:
    """Train every setting on every seed: test accuracy and test loss, (settings, seeds); with `ema` also of the
    averaged weights."""
    nets = Nets((64, *[WIDTH] * hidden, 10), len(settings), len(seeds))
    rngs = [np.random.default_rng((seed, 2)) for seed in seeds]
    nets.start(rngs, column(settings, "gain", 4))
    w, g = nets.flat, nets.grad
    layers, out = nets.views(w), nets.views(g)
    moved, average = optimiser(w), w.copy()
    l2, decay, clip = (column(settings, name) for name in ("l2", "decay", "clip"))
    smoothing, shrink, scale = (column(settings, name, 4) for name in ("smoothing", "shrink", "scale"))
    seed = np.arange(len(seeds))[:, None]
    one_hot = np.eye(10)
    [(parts, weighted)] = {(s.parts, s.weighted) for s in settings}
    scale = np.repeat(scale, len(seeds), 1)
    dynamic, good = column(settings, "dynamic"), np.zeros((len(settings), len(seeds), 1))
    with np.errstate(all="ignore"):  # networks that diverge are part of the experiment
        for step in range(steps):
            chosen = np.stack([rng.integers(0, TRAIN, BATCH) for rng in rngs])
            x, y = data.train[seed, chosen], one_hot[data.labels[seed, chosen]]
            target = (1 - smoothing) * y + smoothing / 10
            stored = layers if store is exact else nets.views(store(w))
            total, at = 0.0, 0
            for size in parts:
                piece = slice(at, at + size)
                kept = forward(stored, x[:, piece], store)
                backward(stored, out, kept, target[..., piece, :], scale * shrink, store)
                share = size / BATCH if weighted else 1 / len(parts)
                total, at = (g if len(parts) == 1 else total + share * g), at + size
            g[:] = total
            g /= (scale * shrink)[..., 0]
            bad = dynamic & ~np.isfinite(g).all(-1, keepdims=True)
            before = (w.copy(), moved.m.copy()) if bad.any() else None
            g += l2 * w
            if np.isfinite(clip).any():
                norm = np.sqrt((g * g).sum(-1, keepdims=True))
                g *= np.minimum(1.0, clip / (norm + 1e-12))
            moved.move(w, g, rate(settings, step, steps), decay)
            if before:  # a skipped step leaves no trace
                w[:], moved.m[:] = np.where(bad, before[0], w), np.where(bad, before[1], moved.m)
            good = np.where(bad, 0, good + 1)
            grown = good == 20
            scale *= np.where(dynamic, np.where(bad, 0.5, np.where(grown, 2.0, 1.0)), 1.0)[..., None]
            good[grown] = 0
            if ema:
                average += (1 - min(ema, (step + 1) / (step + 10))) * (w - average)
        answer = {}
        for name, flat in (("", w), ("ema ", average))[: 2 if ema else 1]:
            logits = forward(nets.views(flat), data.test)[-1]
            right = (logits.argmax(-1) == data.truth) & np.isfinite(logits).all(-1)
            test = loss(logits, one_hot[data.truth])
            answer[f"{name}accuracy"] = 100 * right.mean(-1)
            answer[f"{name}loss"] = np.where(np.isfinite(test), np.minimum(test, WORST), WORST)
    return answer
