"""Choose the parameters of tuned.cu: by counting what each choice asks for, then by timing all of them.

python tune.py   counts and checks; on a GPU also times M = N = K = 4096 in pairs with cuBLAS, TF32 off
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _gemm import TUNED, Problem, Sample, Tile, check, cublas, rounds, shared_bytes, spread, threads, tuned

REGISTERS, SHARED = 65536, 227 * 1024  # of an SM
# --8<-- [start:candidates]
SHAPES = [(64, 128, 32, 64, 8, 8), (128, 128, 32, 64, 8, 8), (128, 256, 64, 64, 16, 8), (256, 128, 64, 64, 16, 8)]
DEPTHS = [(8, 3), (8, 4), (16, 2), (16, 3), (32, 2)]  # BK and STAGES


def candidates() -> list[Tile]:
    """All that fit: a thread needs a register for each sum and about 44 more."""
    found = []
    for bm, bn, wm, wn, tm, tn in SHAPES:
        for bk, stages in DEPTHS:
            for blocks in (1, 2, 3):
                tile = {"BM": bm, "BN": bn, "BK": bk, "WM": wm, "WN": wn, "TM": tm, "TN": tn, "STAGES": stages}
                tile |= {"MINB": blocks, "GROUP": 8}
                registers = blocks * threads(tile) * (tm * tn + 44)
                if 24000 <= registers <= REGISTERS and blocks * (shared_bytes(tile) + 1024) <= SHARED:
                    found.append(tile)
    return found


def counts(tile: Tile) -> tuple[float, float, int]:
    """Per FMA of a warp: its share of all instructions in the loop; bytes from the L2 per flop; warps per SM."""
    fma = tile["BK"] * tile["TM"] * tile["TN"]
    loads = tile["BK"] * (tile["TM"] + tile["TN"]) / 4
    copies = tile["BK"] * (tile["BM"] + tile["BN"] / 4) / threads(tile)
    steps = 8  # wait, barrier, commit, and the loop itself
    per_flop = 4 * (1 / tile["BM"] + 1 / tile["BN"]) / 2
    return fma / (fma + loads + copies + steps), per_flop, tile["MINB"] * threads(tile) // 32


# --8<-- [end:candidates]


def name(tile: Tile) -> str:
    return "t{BM}x{BN}x{BK}_{TM}x{TN}_s{STAGES}_b{MINB}".format(**tile)


def main() -> None:
    rng = np.random.default_rng()
    tiles = sorted(candidates(), key=lambda tile: -counts(tile)[0])
    chosen = tiles if wb.is_gpu() else [TUNED, tiles[0]]
    with ThreadPoolExecutor() as pool:  # the compiler's cache keeps what the loop below loads
        list(pool.map(compiled, chosen))
    small = [Problem(rng, 261, 130, 37, 1.5, 0.5), Problem(rng, 256, 256, 32)]
    launches = {}
    for tile in chosen:
        launches[name(tile)] = tuned(tile)[0]
        check(small, {name(tile): launches[name(tile)]})
    print(f"{len(tiles)} candidates fit, {len(chosen)} compiled and right")
    n = 4096
    problem = Sample(rng, n) if wb.is_gpu() else None
    print(f"{'':28}{'FMA':>7}{'B/flop':>9}{'warps':>7}" + (f"{'TFLOP/s':>10}{'of cuBLAS':>11}" if problem else ""))
    shares = {}
    for tile in tiles:
        fma, per_flop, warps = counts(tile)
        line = f"{name(tile):28}{fma:7.1%}{per_flop:9.4f}{warps:7}"
        if problem:
            problem.reset()
            problem.run(launches[name(tile)])
            problem.check(name(tile))
            ours, theirs = rounds(lambda _, t=tile: problem.run(launches[name(t)]), cublas(problem), seconds=0.4)
            share = spread([100 * b / a for a, b in zip(ours, theirs, strict=True)])
            shares[name(tile)] = share[0]
            t = wb.Timing(*spread(ours), repeats=len(ours))
            wb.timing(name(tile), t, flop=2 * n**3)
            wb.value(f"{name(tile)}.share", share[0], "%", share[1:])
            line += f"{2 * n**3 / t.median / 1e12:10.2f}{share[0]:9.1f} %"
        print(line)
    if shares:
        by_count, best = name(tiles[0]), max(shares, key=lambda one: shares[one])
        wb.value("by_count.share", shares[by_count], "%")
        wb.value("best.share", shares[best], "%")
        print(f"first by count: {by_count}, {shares[by_count]:.1f} %; fastest: {best}, {shares[best]:.1f} %")


def compiled(tile: Tile) -> None:
    """Compile, so that wb.module finds it in the compiler's cache."""
    from pycuda.compiler import compile

    major, minor = CAPABILITY
    compile(wb.source("matmul/tuned.cu", **tile), options=["-lineinfo"], no_extern_c=True, arch=f"sm_{major}{minor}")


if __name__ == "__main__":
    CAPABILITY = cuda.Context.get_device().compute_capability()
    main()
