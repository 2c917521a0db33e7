"""Where weights come to rest under Adam with L2 and under AdamW, if their gradients differ by a factor of a million."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
import warpbench as wb
from _intervals import interval
from _nets import Adam

SEEDS, STEPS, LR, LAMBDA = range(10), 8000, 2e-3, 1.0
SCALES = 10.0 ** np.arange(-3, 3.5, 0.5)


# --8<-- [start:rest]
def rest(kind: str) -> np.ndarray:
    """The mean weight over the second half of training, (seeds, scales). Each gradient is s (w - 1 + noise)."""
    rngs = [np.random.default_rng((seed, 4)) for seed in SEEDS]
    w = np.zeros((len(rngs), len(SCALES)))
    adam, total = Adam(w, betas=(0.9, 0.999)), np.zeros_like(w)
    for step in range(STEPS):
        noise = np.stack([rng.standard_normal(len(SCALES)) for rng in rngs])
        g = SCALES * (w - 1 + noise)
        if kind == "l2":
            adam.move(w, g + LAMBDA * w, LR, 0.0)
        else:
            adam.move(w, g, LR, LAMBDA)
        if step >= STEPS // 2:
            total += w
    return total / (STEPS - STEPS // 2)


def predicted(kind: str) -> np.ndarray:
    """L2: where the mean gradient s (w - 1) + lambda w is 0. AdamW: where (1 - w) / sqrt((1 - w)^2 + 1) = lambda w."""
    if kind == "l2":
        return SCALES / (SCALES + LAMBDA)
    low, high = 0.0, 1.0
    for _ in range(60):
        w = (low + high) / 2
        low, high = (w, high) if (1 - w) / np.hypot(1 - w, 1) > LAMBDA * w else (low, w)
    return np.full(len(SCALES), w)


# --8<-- [end:rest]


if __name__ == "__main__":
    wb.measure_cpu()
    for kind in ("l2", "adamw"):
        found, want = rest(kind), predicted(kind)
        ends = np.array([interval(column) for column in found.T])
        wb.series(f"{kind}.rest", SCALES, ends[:, 0], x_unit="1", unit="1", low=ends[:, 1], high=ends[:, 2])
        wb.check(ends[:, 0], want, 0.05, f"{kind}: where weights come to rest")
        for where, i in (("least", 0), ("most", -1)):
            wb.value(f"{kind}.{where}", ends[i, 0], "1", (ends[i, 1], ends[i, 2]))
        print(f"{kind:6} comes to rest within 0.05 of theory at {len(SCALES)} gradient sizes, on {len(found)} seeds")
        wb.value(f"{kind}.spread", float(ends[:, 0].max() / ends[:, 0].min()), "1")
