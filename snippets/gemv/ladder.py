"""Climb the ladder from one thread per row to x in shared memory: check each rung, time it beside cuBLAS and a copy.

python ladder.py             check; on a GPU also time M = 16, N = 8192, K = 32768: 512 MiB of weights in bf16
python ladder.py --profile   launch each rung once for a profiler, with M = 16 (softcuda: N = 256, K = 2048)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb
from _gemv import Problem, compile_all, copy, cublas, ladder, resident, rounds, shares, spread, timed
from _staged import compile_staged, staged

# --8<-- [start:shapes]
SHAPES = [  # M, N, K: tails in each direction, rows that are no multiple of 16 bytes, whole tiles
    (1, 1, 1),
    (5, 67, 41),
    (16, 131, 520),
    (16, 257, 333),
]
# --8<-- [end:shapes]
SPLITS = 4  # of K: with 64 tiles of rows 256 blocks, of which an H200 holds 264 at once
HALF = 2  # of v9: a block per SM


def check_all(rng: np.random.Generator) -> None:
    compile_all([m for m, _, _ in SHAPES], fp32=True)
    compile_staged([m for m, _, _ in SHAPES])
    for m, n, k in SHAPES:
        for bf16 in (True, False):
            for name, launch in (ladder(3, 5, bf16) | ({"v9": staged(3)} if bf16 else {})).items():
                Problem(rng, m, n, k, bf16).check(launch, name)
                Problem(rng, m, n, k, bf16, whole=True).check(launch, name)
        print(f"M, N, K = {m, n, k}: bf16 and fp32, within the bound; whole numbers exact")


def measure(rng: np.random.Generator, m: int) -> None:
    """Time all rungs on 512 MiB of weights."""
    p = Problem(rng, m, 8192, 32768, whole=True, copies=2)
    yardstick, library = copy(), cublas(p)
    copies: list[float] = []
    libraries: list[float] = []
    print(f"\nM = {m}{'ms':>10}{'GB/s':>8}{'of copy':>9}{'of cuBLAS':>11}")
    for name, launch in (ladder(SPLITS, resident()) | {"v9": staged(HALF)}).items():
        p.check(launch, name)
        ours, theirs, copied = rounds([timed(p, launch), library, yardstick], seconds=0.2)
        p.check(launch, name)  # and still after the last
        copies, libraries = copies + copied, libraries + theirs
        of_copy, of_cublas = shares(ours, copied, 50.0), shares(ours, theirs)  # a copy moves two bytes for ours of one
        t = wb.Timing(*spread(ours), repeats=len(ours))
        wb.timing(name, t, nbytes=p.nbytes)
        wb.value(f"{name}.copy_share", of_copy[0], "%", of_copy[1:])
        wb.value(f"{name}.share", of_cublas[0], "%", of_cublas[1:])
        print(
            f"{name:12}{t.median * 1e3:10.3f}{p.nbytes / t.median / 1e9:8.0f}{of_copy[0]:7.1f} %{of_cublas[0]:9.1f} %"
        )
    plain, padded = rounds([library, cublas(p, padded=True)], seconds=0.2)
    same = shares(padded, plain)
    wb.value("cublas.padded", same[0], "%", same[1:])
    print(f"cuBLAS on the padded x: {same[0]:.1f} % of its rate on the plain one")
    for name, times, moved in (("cublas", libraries, 1), ("copy", copies, 2)):
        t = wb.Timing(*spread(times), repeats=len(times))
        wb.timing(name, t, nbytes=moved * p.nbytes)
        print(f"{name:12}{t.median * 1e3:10.3f}{moved * p.nbytes / t.median / 1e9:8.0f}")


def profile(rng: np.random.Generator) -> None:
    n, k = (8192, 32768) if wb.is_gpu() else (256, 2048)
    p = Problem(rng, 16, n, k, whole=True)
    blocks = resident() if wb.is_gpu() else 6
    for name, launch in (ladder(SPLITS, blocks) | {"v9": staged(HALF)}).items():
        p.check(launch, name)
        print(f"gemv_{name}, M, N, K = {p.m, p.n, p.k}: exact")


if __name__ == "__main__":
    generator = np.random.default_rng()
    wb.needs("8.0")
    if "--profile" in sys.argv[1:]:
        profile(generator)
    else:
        check_all(generator)
        if wb.is_gpu():
            wb.needs("8.0", memory=4 * 2**30)
            measure(generator, 16)
        else:
            print("no GPU: nothing is timed")
