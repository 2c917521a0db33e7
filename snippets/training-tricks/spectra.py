"""What averaging with softmax weights does to waves of each frequency, beside convolutions; ten random draws each."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
import warpbench as wb
from _intervals import interval

SEEDS, TOKENS, TAPS, DRAWS = range(10), 64, 3, 32


# --8<-- [start:mixers]
def softmax(logits: np.ndarray) -> np.ndarray:
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(rng: np.random.Generator, sharpness: float = 1.0, reach: float = np.inf) -> np.ndarray:
    """Weights of DRAWS heads: the logits are random, and fall with the distance on a ring if the reach is finite."""
    apart = np.abs(np.arange(TOKENS)[:, None] - np.arange(TOKENS))
    apart = np.minimum(apart, TOKENS - apart)
    return softmax(sharpness * rng.standard_normal((DRAWS, TOKENS, TOKENS)) - (apart / reach) ** 2 / 2)


def convolution(rng: np.random.Generator) -> np.ndarray:
    """Circular convolutions with TAPS random taps of variance 1 / TAPS."""
    taps = rng.standard_normal((DRAWS, TAPS)) / np.sqrt(TAPS)
    shifts = np.stack([np.roll(np.eye(TOKENS), k - TAPS // 2, 1) for k in range(TAPS)])
    return np.einsum("dk,kij->dij", taps, shifts)


def gains(mixers: np.ndarray) -> np.ndarray:
    """By which factor the size of a wave changes, from frequency 0 to TOKENS / 2: root mean square over draws."""
    t = np.arange(TOKENS)
    waves = np.exp(2j * np.pi * np.outer(t, np.arange(TOKENS // 2 + 1)) / TOKENS)
    return np.sqrt((np.abs(mixers @ waves) ** 2).mean((0, 1)))


MIXERS = {
    "dense": lambda rng: attention(rng),
    "local": lambda rng: attention(rng, reach=3.0),
    "sharp": lambda rng: attention(rng, sharpness=20.0),
    "conv": convolution,
}
# --8<-- [end:mixers]


if __name__ == "__main__":
    wb.measure_cpu()
    for name, make in MIXERS.items():
        found = []
        for seed in SEEDS:
            mixers = make(np.random.default_rng((seed, 5)))
            if name != "conv":
                wb.check(mixers.sum(-1), np.ones(mixers.shape[:-1]), 1e-12, f"{name}: rows sum to 1")
            found.append(gains(mixers))
        ends = np.array([interval(column) for column in np.array(found).T])
        frequencies = range(TOKENS // 2 + 1)
        wb.series(f"{name}.gain", frequencies, ends[:, 0], x_unit="count", unit="1", low=ends[:, 1], high=ends[:, 2])
        for where, i in (("slow", 1), ("fast", -1)):
            wb.value(f"{name}.{where}", ends[i, 0], "1", (ends[i, 1], ends[i, 2]))
        wb.value(f"{name}.mean", ends[1:, 0].mean(), "1")
        if name != "conv":
            assert abs(ends[0, 0] - 1) < 1e-12, f"{name}: a constant does not stay"
    print("every averaging leaves a constant as it is, to 12 digits")
