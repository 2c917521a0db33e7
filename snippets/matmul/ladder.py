"""Climb the ladder of matrix products: check every rung of gemm.cu and tuned.cu, then time it beside cuBLAS.

python ladder.py             check; on a GPU also time M = N = K = 4096 in pairs with cuBLAS, TF32 off
python ladder.py --profile   launch each rung once for a profiler: N = 4096 (softcuda: 256)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb
from _gemm import RUNGS, TUNED, Problem, Sample, check, cublas, ladder, rounds, spread

# --8<-- [start:shapes]
SHAPES = [  # M, N, K, alpha, beta: tails in each direction, vectors, whole tiles, and tiles that overlap
    (67, 53, 41, 1.5, 0.5),
    (1, 1, 1, 1.0, 0.0),
    (129, 132, 36, -1.0, 1.0),
    (5, 257, 3, 2.0, 0.0),
    (130, 3, 100, 1.0, -0.5),
    (128, 128, 64, 1.0, 0.0),
    (259, 258, 37, 1.5, 0.5),
]
# --8<-- [end:shapes]
# --8<-- [start:intensity]
TILES = {one.name: (one.rows, one.columns) for one in RUNGS[2:]} | {"v10": (TUNED["BM"], TUNED["BN"])}


def intensity(rows: int, columns: int) -> float:
    """Flops per byte that a block loads: for each step along K, 2 rows columns flops and rows + columns floats."""
    return 2 * rows * columns / (4 * (rows + columns))


# --8<-- [end:intensity]


def check_all(rng: np.random.Generator, launches: dict) -> None:
    for shape in SHAPES:
        check([Problem(rng, *shape)], launches)
        m, n, k, alpha, beta = shape
        what = f"{m} x {n} x {k}, alpha {alpha}, beta {beta}"
        print(f"{what:38} {len(launches)} rungs within the bound")


def measure(rng: np.random.Generator, launches: dict, n: int) -> None:
    problem, flop = Problem(rng, n, n, n), 2 * n**3
    theirs = cublas(problem)
    problem.reset()
    theirs(0)
    problem.check("cuBLAS")
    library: list[float] = []
    print(f"\nN = {n}{'ms':>12}{'TFLOP/s':>10}{'of cuBLAS':>11}{'10 %':>8}{'90 %':>8}")
    for name, launch in launches.items():
        problem.reset()
        problem.run(launch)
        problem.check(name)
        ours, cublas_times = rounds(lambda _, launch=launch: problem.run(launch), theirs, seconds=1.0)
        problem.reset()
        problem.run(launch)
        problem.check(name)  # and still after the last
        library += cublas_times
        share = spread([100 * b / a for a, b in zip(ours, cublas_times, strict=True)])
        t = wb.Timing(*spread(ours), repeats=len(ours))
        wb.timing(name, t, flop=flop)
        wb.value(f"{name}.share", share[0], "%", share[1:])
        if name in TILES:
            wb.value(f"{name}.intensity", intensity(*TILES[name]), "flop/B")
        cells = f"{t.median * 1e3:12.3f}{flop / t.median / 1e12:10.2f}"
        print(f"{name:8}{cells}" + "".join(f"{x:{w}.1f} %" for x, w in zip(share, (9, 6, 6), strict=True)))
    t = wb.Timing(*spread(library), repeats=len(library))
    wb.timing("cublas", t, flop=flop)
    print(f"{'cuBLAS':8}{t.median * 1e3:12.3f}{flop / t.median / 1e12:10.2f}")


def sweep(rng: np.random.Generator, launch) -> None:
    """The last rung over sizes, one of them a multiple of nothing."""
    sizes = [512, 1024, 2048, 3072, 4096, 4099, 6144, 8192]
    shares, rates = [], []
    for n in sizes:
        problem = Problem(rng, n, n, n) if n <= 1024 else Sample(rng, n)
        problem.reset()
        problem.run(launch)
        problem.check(f"v10 at N = {n}")
        ours, theirs = rounds(lambda _, p=problem: p.run(launch), cublas(problem), seconds=0.5)
        shares.append(spread([100 * b / a for a, b in zip(ours, theirs, strict=True)]))
        rates.append(2 * n**3 / spread(ours)[0])
        print(f"v10 at N = {n:5}: {rates[-1] / 1e12:5.1f} TFLOP/s, {shares[-1][0]:5.1f} % of cuBLAS")
    even = [i for i, n in enumerate(sizes) if n != 4099]
    columns = [[shares[i][which] for i in even] for which in (0, 1, 2)]
    wb.series("v10.sizes", [float(sizes[i]) for i in even], columns[0], x_unit="count", unit="%",
              low=columns[1], high=columns[2])  # fmt: skip
    wb.value("v10.odd", shares[sizes.index(4099)][0], "%", shares[sizes.index(4099)][1:])


def profile(rng: np.random.Generator, launches: dict, n: int) -> None:
    problem = Problem(rng, n, n, n)
    for name, launch in launches.items():
        problem.reset()
        problem.run(launch)
        problem.check(name)
        print(f"gemm_{name} at N = {n}: within its bound")


if __name__ == "__main__":
    generator = np.random.default_rng()
    rungs = ladder()
    if "--profile" in sys.argv[1:]:
        profile(generator, rungs, 4096 if wb.is_gpu() else 256)
    else:
        check_all(generator, rungs)
        if wb.is_gpu():
            wb.needs("8.0", memory=2**30)
            measure(generator, rungs, 4096)
            sweep(generator, rungs["v10"])
        else:
            print("no GPU: nothing is timed")
