"""Products in Triton, from one tile per program to the copy engine: check each, then time it beside cuBLAS.

python ladder.py             check; on a GPU also time N = 4096 and 8192 in pairs with cuBLAS
python ladder.py --profile   launch each version once for a profiler: N = 8192 (softcuda: 512)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that Triton and torch use too
import pycuda.driver as cuda
import warpbench as wb

wb.needs("9.0", packages="triton")
import _products as products  # noqa: E402
from _tools import Launch, Problem, poison, put  # noqa: E402
from warppairs import pairs, share_of, spread  # noqa: E402

# --8<-- [start:versions]
VERSIONS = {  # kernel, tile, group, warps, stages
    "v0": Launch(products.product, 128, 128, 64, 1, 4, 3),  # along the rows
    "v1": Launch(products.product, 128, 128, 64, 8, 4, 3),  # in groups
    "v2": Launch(products.product, 128, 256, 64, 8, 8, 3),  # a larger tile, with eight warps
    "v3": Launch(products.described, 128, 256, 64, 8, 8, 4),  # tensor descriptors
    "v4": Launch(products.persistent, 128, 256, 64, 8, 8, 3),  # and persistent programs
}
# --8<-- [end:versions]
OTHERS = {
    "wrapped": Launch(products.wrapped, 128, 128, 64, 8, 4, 3),
    "aligned": Launch(products.aligned, 128, 128, 64, 8, 4, 3),
    "four_warps": Launch(products.product, 128, 256, 64, 8, 4, 3),
}
SHAPES = [(3, 8, 8), (200, 328, 136), (640, 784, 208)]  # M, N, K: multiples of 8, as descriptors and `aligned` want


def run(name: str, problem: Problem) -> None:
    """Poison C and launch."""
    problem.reset()
    few = cuda.Context.get_device().multiprocessor_count if wb.is_gpu() else 4  # so that each has several tiles
    (VERSIONS | OTHERS)[name](problem, programs=few if name == "v4" else 0)


def check_all(rng: np.random.Generator) -> None:
    for shape in SHAPES:
        problem = Problem(rng, *shape)
        for name in VERSIONS | OTHERS:
            run(name, problem)
            problem.check(f"{name}, M, N, K = {shape}")
        print(f"{' x '.join(map(str, shape)):16} {', '.join(VERSIONS | OTHERS)}: within the bound")
    problem = Problem(rng, 67, 53, 41)  # rows of A and B begin anywhere
    for name in ("v0", "v1", "v2", "wrapped"):
        run(name, problem)
        problem.check(f"{name}, 67 x 53 x 41")
    print("67 x 53 x 41     v0, v1, v2, wrapped: within the bound")


def check_fused(rng: np.random.Generator, m: int, n: int, k: int, every: bool = True) -> tuple:
    """relu(A B + bias) by one kernel and by two; returns both launches, checked."""
    problem, bias = Problem(rng, m, n, k, every), rng.standard_normal(n).astype(np.float32)
    of_bias, one = put(bias), Launch(products.fused, 128, 256, 64, 8, 8, 3)
    product = problem.want
    here = bias[problem.columns].astype(np.float64)
    problem.want = np.maximum(product + here, 0)
    problem.bound = problem.bound + 2.0**-11 * (np.abs(product) + np.abs(here)) + 2.0**-24  # rounded twice by the two

    def together() -> None:
        one(problem, of_bias)

    def apart() -> None:
        VERSIONS["v2"](problem)
        products.bias_relu[(-(-m * n // 1024),)](problem.c, of_bias, n, m * n, BLOCK=1024)

    for what, launch in (("fused", together), ("two kernels", apart)):
        problem.reset()
        launch()
        problem.check(f"{what}, {m} x {n} x {k}")
    return together, apart


def measure(rng: np.random.Generator, n: int) -> None:
    """Every version in pairs with torch.mm, which calls cuBLAS."""
    import torch

    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False  # its sums stay in fp32, as ours
    problem, flop = Problem(rng, n, n, n, every=False), 2 * n**3

    def theirs() -> None:
        torch.mm(problem.a, problem.b, out=problem.c)

    problem.reset()
    theirs()
    problem.check("cuBLAS")
    pairs(theirs, theirs, seconds=1.0)  # the GPU is warm, and at its power limit
    library: list[float] = []
    shares: dict[str, tuple[float, float, float]] = {}
    tag = "" if n == 8192 else f".n{n}"
    print(f"\nN = {n}{'ms':>14}{'TFLOP/s':>10}{'of cuBLAS':>11}{'10 %':>8}{'90 %':>8}")
    for name in [*VERSIONS, "wrapped", "four_warps"]:
        run(name, problem)
        problem.check(name)
        few = cuda.Context.get_device().multiprocessor_count
        launch = (VERSIONS | OTHERS)[name]
        ours, cublas = pairs(lambda: launch(problem, programs=few if name == "v4" else 0), theirs, seconds=0.5)  # noqa: B023
        run(name, problem)
        problem.check(name)  # and still after the last
        library += cublas.seconds
        share = shares[name] = share_of(ours, cublas)
        t = wb.Timing(*spread(ours.seconds), repeats=len(ours.seconds))
        wb.timing(f"{name}{tag}", t, flop=flop)
        wb.value(f"{name}{tag}.share", share[0], "%", share[1:])
        cells = f"{t.median * 1e3:12.3f}{flop / t.median / 1e12:10.1f}"
        print(f"{name:12}{cells}" + "".join(f"{x:{w}.1f} %" for x, w in zip(share, (9, 6, 6), strict=True)))
    best = max(VERSIONS, key=lambda name: shares[name][0])
    wb.value(f"best{tag}.share", shares[best][0], "%", shares[best][1:])
    print(f"the fastest is {best}")
    for one, other, what in (("v0", "v1", "grouped"), ("v0", "v2", "v2_v0")):  # in pairs, so that the clock is the same
        first, second = (lambda: VERSIONS[one](problem)), (lambda: VERSIONS[other](problem))  # noqa: B023
        slow, fast = pairs(first, second, seconds=0.5)
        ratio = spread([a / b for a, b in zip(slow.seconds, fast.seconds, strict=True)])
        wb.value(f"{what}{tag}.ratio", ratio[0], "1", ratio[1:])
    t = wb.Timing(*spread(library), repeats=len(library))
    wb.timing(f"cublas{tag}", t, flop=flop)
    print(f"{'cuBLAS':12}{t.median * 1e3:12.3f}{flop / t.median / 1e12:10.1f}")


def measure_odd(rng: np.random.Generator, n: int) -> None:
    """Rows of A and B are multiples of 16 bytes, but not of 32: without and with the hint, and by descriptors."""
    problem, flop = Problem(rng, n, n, n, every=False), 2 * n**3
    times = {}
    for name in ("v1", "aligned", "v3"):
        run(name, problem)
        problem.check(f"{name}, N = {n}")
        launch = (VERSIONS | OTHERS)[name]
        times[name] = wb.time(lambda i: launch(problem), poison=lambda i: poison(problem.c))  # noqa: B023
        run(name, problem)
        problem.check(f"{name}, N = {n}")
        wb.timing(f"{name}.odd", times[name], flop=flop)
        print(f"N = {n}, {name:8} {flop / times[name].median / 1e12:8.1f} TFLOP/s")


def measure_fused(rng: np.random.Generator) -> None:
    together, apart = check_fused(rng, 8192, 8192, 512, every=False)
    one, two = pairs(together, apart, seconds=0.5)
    times = [wb.Timing(*spread(side.seconds), repeats=len(side.seconds)) for side in (one, two)]
    wb.timing("fused", times[0])
    wb.timing("unfused", times[1])
    fused, unfused = (t.median * 1e6 for t in times)
    print(f"8192 x 8192 x 512, bias and ReLU: {fused:.0f} µs fused, {unfused:.0f} µs in two kernels")


def profile(rng: np.random.Generator, n: int) -> None:
    problem = Problem(rng, n, n, n, every=n <= 512)
    for name in (*VERSIONS, "wrapped"):
        run(name, problem)
        problem.check(name)
        print(f"{name} at N = {n}: within its bound")
    odd = Problem(rng, n - 24, n - 24, 136, every=n <= 512)  # multiples of 8, not of 16
    for name in ("v1", "aligned", "wrapped", "v3"):
        run(name, odd)
        odd.check(name)
        print(f"{name} at {n - 24} x {n - 24} x 136: within its bound")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator, 8192 if wb.is_gpu() else 512)
    else:
        check_all(generator)
        check_fused(generator, 200, 328, 136)
        print("relu(A B + bias) by one kernel and by two: within the bound")
        if wb.is_gpu():
            wb.needs("9.0", memory=2**30)
            measure(generator, 8192)
            measure(generator, 4096)
            measure_odd(generator, 8168)
            measure_fused(generator)
        else:
            print("no GPU: nothing is timed")
