"""y += a * x with a grid of any size; blocks and threads are part of a size, so that neither can be assumed."""

import numpy as np
from warpjudge import Budget, Exercise, Launch, Sizes

AT = 1 << 14


def inputs(random, n, blocks, threads):
    return {"a": np.float32(-1.75), "x": random.floats(n), "y": random.floats(n), "n": n}


def reference(a, x, y, n):
    return {"y": np.float64(a) * x.astype(np.float64) + y.astype(np.float64)}


def scale(a, x, y, n):
    return {"y": np.abs(np.float64(a) * x) + np.abs(y.astype(np.float64))}


exercise = Exercise(
    kernel="void axpy(float a, const float* x, float* y, long long n)",
    sizes=Sizes(
        [
            (1, 1, 1),
            (1, 4, 64),
            (97, 1, 1),
            (97, 7, 5),
            (255, 1, 256),
            (256, 1, 256),
            (257, 1, 256),
            (500, 3, 33),
            (1024, 4, 64),
            (1031, 4, 64),
            (2053, 2, 256),
            (3000, 16, 256),
        ]
    ),
    inputs=inputs,
    reference=reference,
    scale=scale,
    launch=lambda n, blocks, threads: Launch(grid=blocks, block=threads),
    roundings=2,
    budget=Budget(at=(AT, 8, 256), bytes_loaded=8 * AT, bytes_stored=4 * AT),
)
