"""Climb the ladder of matrix products on tensor cores: check every rung, then time it beside cuBLAS.

python ladder.py             check; on a GPU also time M = N = K = 8192 in pairs with cuBLAS, and the last rungs at 4096
python ladder.py --profile   launch each rung once for a profiler: N = 8192 (softcuda: 512)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _tensor import NAMES, RUNGS, Problem, Sample, check, cublas, ladder
from warppairs import Meter, pairs, share_of, spread

# --8<-- [start:shapes]
SHAPES = [  # M, N, K: one row, tails in each direction, several tiles for each persistent block
    (1, 8, 8),
    (67, 56, 40),
    (200, 264, 136),
    (640, 776, 200),
]
# --8<-- [end:shapes]
# --8<-- [start:intensity]
TILES = {one.name: (one.rows, one.columns) for one in RUNGS[1:]} | {"v13": (128, 128), "v14": (128, 256)}


def intensity(rows: int, columns: int) -> float:
    """Flops per byte that a block loads: for each step along K, 2 rows columns flops and rows + columns elements."""
    return 2 * rows * columns / (2 * (rows + columns))


# --8<-- [end:intensity]


def check_all(rng: np.random.Generator, launches: dict) -> None:
    for shape in SHAPES:
        check([Problem(rng, *shape)], launches)
        print(f"{' x '.join(map(str, shape)):16} {len(launches)} rungs within the bound")


def measure(rng: np.random.Generator, launches: dict, n: int) -> None:
    """Every rung in pairs with cuBLAS, and what the last ones draw."""
    problem, flop, meter = Sample(rng, n), 2 * n**3, Meter()
    theirs = cublas(problem)
    problem.reset()
    theirs()
    problem.check("cuBLAS")
    library: list[float] = []
    pairs(theirs, theirs)  # the GPU is warm, and at its power limit
    print(f"\nN = {n}{'ms':>12}{'TFLOP/s':>10}{'of cuBLAS':>11}{'10 %':>8}{'90 %':>8}")
    for name, launch in launches.items():
        problem.reset()
        launch(problem)
        problem.check(name)
        ours, cublas_side = pairs(lambda launch=launch: launch(problem), theirs, meter=meter)
        problem.reset()
        launch(problem)
        problem.check(name)  # and still after the last
        library += cublas_side.seconds
        share = share_of(ours, cublas_side)
        t = wb.Timing(*spread(ours.seconds), repeats=len(ours.seconds))
        wb.timing(name, t, flop=flop)
        wb.value(f"{name}.share", share[0], "%", share[1:])
        if meter.works:
            for which, side in ((name, ours), (f"{name}.cublas", cublas_side)):
                wb.value(f"{which}.pair.watts", side.power, "W")
                wb.value(f"{which}.pair.clock", side.clock, "Hz")
        if name in TILES:
            wb.value(f"{name}.intensity", intensity(*TILES[name]), "flop/B")
        cells = f"{t.median * 1e3:12.3f}{flop / t.median / 1e12:10.2f}"
        print(f"{name:8}{cells}" + "".join(f"{x:{w}.1f} %" for x, w in zip(share, (9, 6, 6), strict=True)))
    t = wb.Timing(*spread(library), repeats=len(library))
    wb.timing("cublas", t, flop=flop)
    print(f"{'cuBLAS':8}{t.median * 1e3:12.3f}{flop / t.median / 1e12:10.2f}")
    if meter.works:
        for name in ("v3", "v8", "v10", "v12", "v13", "v14", "cublas"):
            run = theirs if name == "cublas" else lambda name=name: launches[name](problem)
            seconds, watts, clock = meter.watch(run, 0.7)
            wb.value(f"{name}.watts", watts, "W")
            wb.value(f"{name}.clock", clock, "Hz")
            wb.value(f"{name}.alone", flop / seconds, "flop/s")
            print(f"{name:8} alone: {flop / seconds / 1e12:7.1f} TFLOP/s, {watts:4.0f} W, {clock / 1e6:5.0f} MHz")
    for matrix in (problem.a, problem.b):  # what does not toggle draws less, and the clock rises
        cuda.memset_d8(matrix, 0, problem.bytes)
    rate = flop / spread(pairs(lambda: launches["v14"](problem), theirs)[0].seconds)[0]
    wb.value("zeros.flops", rate, "flop/s")
    print(f"v14 of zeros: {rate / 1e12:.1f} TFLOP/s")


def registers(launches: dict) -> None:
    for name, launch in launches.items():
        kernel = launch.kernel
        print(f"{name:4} {kernel.num_regs:4} registers, {kernel.local_size_bytes:5} bytes of stack per thread")


def sweep(rng: np.random.Generator, launch) -> None:
    """The last rung over sizes."""
    sizes, shares = [512, 1024, 2048, 4096, 6144, 8192], []
    for n in sizes:
        problem = Problem(rng, n, n, n) if n <= 1024 else Sample(rng, n)
        problem.reset()
        launch(problem)
        problem.check(f"v14 at N = {n}")
        ours, theirs = pairs(lambda p=problem: launch(p), cublas(problem))
        shares.append(share_of(ours, theirs))
        rate = 2 * n**3 / spread(ours.seconds)[0]
        print(f"v14 at N = {n:5}: {rate / 1e12:6.1f} TFLOP/s, {shares[-1][0]:5.1f} % of cuBLAS")
    columns = [[share[which] for share in shares] for which in (0, 1, 2)]
    wb.series("v14.sizes", [float(n) for n in sizes], columns[0], x_unit="count", unit="%",
              low=columns[1], high=columns[2])  # fmt: skip


def profile(rng: np.random.Generator, launches: dict, n: int) -> None:
    problem = Sample(rng, n)
    for name, launch in launches.items():
        problem.reset()
        launch(problem)
        problem.check(name)
        print(f"gemm_{name} at N = {n}: within its bound")


if __name__ == "__main__":
    if cuda.Context.get_device().compute_capability() != (9, 0):
        name = cuda.Context.get_device().name()
        print(f"skipped: needs a device with wgmma (compute capability 9.0), and {name} has none")
        raise SystemExit(wb.SKIPPED)
    generator = np.random.default_rng()
    blocks = cuda.Context.get_device().multiprocessor_count if wb.is_gpu() else 4  # few, so that each has several tiles
    rungs = ladder(blocks)
    assert list(rungs) == NAMES
    if "--profile" in sys.argv[1:]:
        profile(generator, rungs, 8192 if wb.is_gpu() else 512)
    else:
        check_all(generator, ladder(4) if wb.is_gpu() else rungs)
        registers(rungs)
        if wb.is_gpu():
            wb.needs("9.0", memory=2**30)
            measure(generator, rungs, 8192)
            sweep(generator, rungs["v14"])
        else:
            print("no GPU: nothing is timed")
