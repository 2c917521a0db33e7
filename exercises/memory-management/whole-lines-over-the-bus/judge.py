"""Three arrays into one of triples, by stores of whole sectors, as results that go over the bus should be stored."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 128
AT = 1 << 12


def inputs(random, n):
    return {**{name: random.floats(n) for name in "xyz"}, "n": n}


def reference(x, y, z, n):
    return {"out": np.stack([x, y, z], 1).astype(np.float64)}


def one_after_another(failure):
    """The three arrays one behind the other, not interleaved."""
    if not np.array_equal(failure.got.reshape(-1), np.concatenate([failure.inputs[name] for name in "xyz"])):
        return None
    return Cause(
        "one-after-another",
        {},
        {
            "en": "{size}: out has all of x, then all of y, then all of z; x[i], y[i] and z[i] belong side by side",
            "zh": "{size}：out 里先是整个 x，再是整个 y，再是整个 z；x[i]、y[i]、z[i] 应当相邻",
        },
    )


def another_order(failure):
    got = failure.got.reshape(-1, 3)
    for order in ((2, 1, 0), (1, 0, 2), (0, 2, 1), (1, 2, 0), (2, 0, 1)):
        if np.array_equal(got, failure.want.reshape(-1, 3)[:, order]):
            return Cause(
                "another-order",
                {},
                {
                    "en": "{size}: each triple has its three numbers, in another order than x, y, z",
                    "zh": "{size}：每个三元组里的三个数都对，但次序不是 x、y、z",
                },
            )
    return None


exercise = Exercise(
    kernel="void interleave(const float* x, const float* y, const float* z, float* out, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    causes=(one_after_another, another_order),
    budget=Budget(at=AT, bytes_loaded=12 * AT, bytes_stored=12 * AT, bank_conflicts=0),
)
