"""Hard attention is trained: the score-function estimate (REINFORCE) has the gradient as its mean.

python hard.py   the same anywhere; on a GPU with more draws
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

PLACES, BLOCK = 8, 128  # as in hard.cu


# --8<-- [start:analytic]
def softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max())
    return e / e.sum()


def gradient(p: np.ndarray, pay: np.ndarray) -> np.ndarray:
    """Of the mean pay Σ p pay, by the scores."""
    return p * (pay - p @ pay)


def variance(p: np.ndarray, pay: np.ndarray, baseline: float) -> float:
    """Of one draw's estimate, all components together."""
    estimates = (pay - baseline)[:, None] * (np.eye(PLACES) - p)  # a row for each place that may be drawn
    return float(p @ (estimates**2).sum(1) - (gradient(p, pay) ** 2).sum())


# --8<-- [end:analytic]


class Reinforce:
    def __init__(self, rng: np.random.Generator, blocks: int, draws: int) -> None:
        self.rng, self.blocks, self.draws = rng, blocks, draws
        self.kernel = wb.module("attention-variants/hard.cu", PLACES=PLACES).get_function("reinforce")
        self.count = blocks * BLOCK * draws

    def __call__(self, p: np.ndarray, pay: np.ndarray, baseline: float = 0.0) -> tuple[np.ndarray, float]:
        """The mean of the estimates, and their variance."""
        seeds = self.rng.integers(0, 2**64, self.blocks * BLOCK, np.uint64)
        out = np.full((self.blocks, PLACES + 1), np.nan)
        arrays = cuda.In(p.astype(np.float32)), cuda.In(pay.astype(np.float32)), np.float32(baseline), cuda.In(seeds)
        self.kernel(*arrays, cuda.InOut(out), np.int32(self.draws), block=(BLOCK, 1, 1), grid=(self.blocks, 1))
        sums = out.sum(0) / self.count
        return sums[:PLACES], float(sums[PLACES] - (sums[:PLACES] ** 2).sum())


def check(reinforce: Reinforce) -> None:
    """The mean against the analytic gradient, and that against differences; then what a baseline is worth."""
    fixed = np.random.default_rng(1502)  # the draws are fresh each time
    scores, pay = fixed.standard_normal(PLACES), fixed.standard_normal(PLACES) + 3
    p, h = softmax(scores), 1e-6
    want = gradient(p, pay)
    slopes = [(softmax(scores + h * e) @ pay - softmax(scores - h * e) @ pay) / (2 * h) for e in np.eye(PLACES)]
    wb.check(want, np.array(slopes), 1e-8, "the analytic gradient")
    spreads = {}
    for name, baseline in (("none", 0.0), ("mean", float(p @ pay))):
        got, spreads[name] = reinforce(p, pay, baseline)
        exact = variance(p, pay, baseline)
        wb.check(got, want, 6 * np.sqrt(exact / reinforce.count) + 1e-6, f"the mean estimate, baseline {name}")
        wb.check(spreads[name], exact, 0.2 * exact, f"the variance, baseline {name}")
        error = np.abs(got - want).max()
        print(
            f"{reinforce.count:,} draws, baseline {name}: off by {error:.1e} this time, "
            f"{np.sqrt(exact / reinforce.count):.1e} expected; variance of one draw {spreads[name]:.3f}"
        )
    wb.value("plain.variance", spreads["none"], "1")
    wb.value("baseline.variance", spreads["mean"], "1")


# --8<-- [start:train]
def train(reinforce: Reinforce, pay: np.ndarray, steps: int, rate: float) -> list[float]:
    """Climb along estimates only, from equal scores: the probability of the best place after each step."""
    scores, baseline, best = np.zeros(PLACES), 0.0, []
    for _ in range(steps):
        p = softmax(scores)
        estimate, _ = reinforce(p, pay, baseline)
        scores += rate * estimate
        baseline = float(p @ pay)
        best.append(float(softmax(scores)[pay.argmax()]))
    return best


# --8<-- [end:train]


if __name__ == "__main__":
    generator = np.random.default_rng()
    large = Reinforce(generator, blocks=264 if wb.is_gpu() else 8, draws=256 if wb.is_gpu() else 32)
    check(large)
    pay = np.array([0.1, 0.3, 0.2, 1.0, 0.0, 0.4, 0.6, 0.5])
    best = train(Reinforce(generator, blocks=1, draws=2), pay, steps=60, rate=4.0)
    print(f"the best place this time: {1 / PLACES:.3f}, after 10 steps {best[9]:.3f}, after 60 {best[-1]:.3f}")
    if not best[-1] > 0.8:
        raise AssertionError("hard attention was not trained")
