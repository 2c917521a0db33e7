"""Why scores are divided by √d: the variance of q·k is d, and softmax of such numbers picks one.

python score_variance.py   the same anywhere
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _pieces import Pieces

PAIRS, KEYS = 2**14, 64
DEPTHS = (4, 16, 64, 256, 1024)


def variances(pieces: Pieces, rng: np.random.Generator) -> None:
    """Var(q·k) over many pairs, for entries of mean 0 and variance 1 from two distributions."""
    kernel = pieces.scores.get_function("pair_dots")
    draw = {
        "normal": lambda shape: rng.standard_normal(shape, dtype=np.float32),
        "coin": lambda shape: rng.integers(0, 2, shape).astype(np.float32) * 2 - 1,
    }
    print("Var(q·k) / d     " + "".join(f"{f'd = {d}':>10}" for d in DEPTHS))
    for name, numbers in draw.items():
        found = []
        for d in DEPTHS:
            q, k, dots = numbers((d, PAIRS)), numbers((d, PAIRS)), np.full(PAIRS, np.nan, np.float32)
            grid = (PAIRS // 256, 1)
            kernel(cuda.In(q), cuda.In(k), cuda.InOut(dots), np.int32(PAIRS), np.int32(d), block=(256, 1, 1), grid=grid)
            few = slice(0, 256)
            want = (q[:, few].astype(np.float64) * k[:, few]).sum(0)
            wb.check(dots[few], want, 1e-5 * d, "q·k")
            found.append(dots.astype(np.float64).var() / d)
            noise = np.sqrt((2 + 6 / d) / PAIRS)  # of such an estimate: the fourth moment of q·k is 3 + 6 / d at most
            wb.check(found[-1], 1.0, 6 * noise, f"Var(q·k) / d of {name} entries at d = {d}")
        print(f"{name:17}" + "".join(f"{f:10.1%}" for f in found))


def saturation(pieces: Pieces, rng: np.random.Generator) -> None:
    """What softmax over 64 keys makes of scores: the largest weight, and how much gradient comes through."""
    rows = 256
    told: dict[str, list] = {"plain": [], "scaled": []}
    for d in DEPTHS:
        q, k = (rng.standard_normal((n, d), dtype=np.float32) for n in (rows, KEYS))
        for name, scale in (("plain", 1.0), ("scaled", d**-0.5)):
            p = pieces.softmax(pieces.dot(q, k, scale)).astype(np.float64)
            s = q.astype(np.float64) @ k.T.astype(np.float64) * scale
            want = np.exp(s - s.max(1, keepdims=True))
            want /= want.sum(1, keepdims=True)
            wb.check(p, want, 1e-4, f"weights at d = {d}")
            # the Jacobian diag(p) - p pᵀ has the trace 1 - Σ p²: 0 where one weight is 1
            told[name].append((p.max(1).mean(), (1 - (p**2).sum(1)).mean()))
    print("\nof 64 keys:        largest weight      trace of the Jacobian")
    print("    d           plain    scaled          plain    scaled")
    for i, d in enumerate(DEPTHS):
        (a, b), (c, e) = told["plain"][i], told["scaled"][i]
        print(f"{d:5}{a:16.1%}{c:10.1%}{b:15.1%}{e:10.1%}")
    for name, columns in told.items():
        wb.series(f"{name}.largest", DEPTHS, [a for a, _ in columns], x_unit="count", unit="1")
        wb.series(f"{name}.trace", DEPTHS, [b for _, b in columns], x_unit="count", unit="1")
    wb.value("plain_1024.trace", told["plain"][-1][1], "1")
    wb.value("scaled_1024.trace", told["scaled"][-1][1], "1")


if __name__ == "__main__":
    generator, pieces = np.random.default_rng(), Pieces()
    variances(pieces, generator)
    saturation(pieces, generator)
