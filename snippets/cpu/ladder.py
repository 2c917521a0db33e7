"""Five steps of a matrix product on the CPU: check matmul.c at awkward sizes, then time each step beside NumPy.

The rate of a step is that of its shortest run among many rounds, each of which runs every step once.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported: the reference is one core's
from collections.abc import Callable

import numpy as np
import warpbench as wb
from _native import SCALAR, interleaved, library, pointer, size

THREADS = 2
ROUNDS, PAIRS = 51, 201
N = K = 1000  # B takes 4 MB
SMALL = 80  # a B of 25 KiB, which an L1 of 32 KiB holds
# --8<-- [start:steps]
plain, simd = library("matmul.c", *SCALAR), library("matmul.c")
STEPS = {  # each function, and how many rows of C we time it on: so few that a run is likely to be left alone
    "v0": (plain.ijk, 2),
    "v1": (plain.ikj, 4),
    "v2": (simd.ikj, 12),
    "v3": (simd.tiled, 24),
    "v4": (simd.registers, 48),
    "v5": (lambda *arguments: simd.threads(*arguments, size(THREADS)), 48),
}
# --8<-- [end:steps]


# --8<-- [start:problem]
class Problem:
    """Random A, B and C, and what C + A B must be. A sum of k products and C rounds at most k + 1 times."""

    def __init__(self, rng: np.random.Generator, m: int, n: int, k: int) -> None:
        self.shape = m, n, k
        self.a, self.b, self.c = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((m, k), (k, n), (m, n)))
        wide = [x.astype(np.float64) for x in (self.a, self.b, self.c)]
        self.want = wide[0] @ wide[1] + wide[2]
        magnitude = abs(wide[0]) @ abs(wide[1]) + abs(wide[2])
        self.bound = 1.01 * (2 * k + 1) * 2.0**-24 * magnitude  # without FMA a product rounds, too

    def run(self, step: Callable[..., object], c: np.ndarray) -> None:
        step(*map(size, self.shape), pointer(self.a), pointer(self.b), pointer(c))

    def check(self, step: Callable[..., object], what: str) -> None:
        """Run the step once; C lies between NaN that no step may change."""
        guarded = np.full(self.c.size + 64, np.nan, np.float32)
        inside = guarded[32:-32].reshape(self.c.shape)
        inside[:] = self.c
        self.run(step, inside)
        wb.check(inside, self.want, self.bound, what)
        assert np.isnan(guarded[:32]).all() and np.isnan(guarded[-32:]).all(), f"{what}: writes beside C"


# --8<-- [end:problem]


def check_all(rng: np.random.Generator) -> None:
    for shape in ((67, 53, 41), (1, 1, 1), (5, 257, 3), (64, 128, 64), (3, 130, 200), (48, 1000, 100)):
        problem = Problem(rng, *shape)
        for name, (step, _) in STEPS.items():
            problem.check(step, f"{name} at {shape}")
        print("{} x {} x {}: {} steps within the bound".format(*shape, len(STEPS)))


def measure(rng: np.random.Generator) -> None:
    ways, work = {}, {}
    for name, (step, m) in STEPS.items():
        problem, work[name] = Problem(rng, m, N, K), 2 * m * N * K
        ways[name] = lambda step=step, problem=problem: problem.run(step, problem.c)
    for name in ("v1", "v2"):
        problem, work[f"small_{name}"] = Problem(rng, SMALL, SMALL, SMALL), 2 * SMALL**3
        ways[f"small_{name}"] = lambda step=STEPS[name][0], problem=problem: problem.run(step, problem.c)
    problem, work["numpy"] = Problem(rng, 48, N, K), 2 * 48 * N * K
    ways["numpy"] = lambda: np.matmul(problem.a, problem.b, out=problem.c)
    print(f"\n{'':10}{'GFLOP/s':>10}    median")
    taken = interleaved(ways, ROUNDS)
    # Two threads need both cores at one moment, which is rare where other programs run: more rounds, of v4 as well.
    taken |= interleaved({name: ways[name] for name in ("v4", "v5")}, PAIRS)
    for name, seconds in taken.items():
        rate, usual = work[name] / seconds[0], work[name] / seconds[len(seconds) // 2]
        wb.value(f"{name}.flops", rate, "flop/s")
        wb.value(f"{name}.time", 2e9 / rate, "s")  # of 10^9 multiply-adds
        wb.value(f"{name}.usual", usual, "flop/s")  # of the median run
        print(f"{name:10}{rate / 1e9:10.2f}{usual / 1e9:10.2f}")


if __name__ == "__main__":
    wb.measure_cpu()
    generator = np.random.default_rng()
    check_all(generator)
    measure(generator)
