"""Cycles of a scheduler for a product on tensor cores and for a power of two: by one warp, by several, and together.

python pipes.py   check; on a GPU also count cycles, with one block on every SM
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _flash import Array

CHAINS = 8  # as in pipes.cu


def powers(rounds: int) -> np.ndarray:
    """What 2^-x, over and over, makes of the numbers that a warp starts with: lanes × CHAINS."""
    x = np.add.outer(np.arange(32), np.arange(CHAINS)) / 64
    for _ in range(rounds):
        x = 2**-x
    return x


def run(kernel: object, rng: np.random.Generator, warps: int, rounds: int, does: tuple[int, int]) -> float:
    """Launch, check, and return the cycles that the slowest warp of a block took, by the median block."""
    blocks = cuda.Context.get_device().multiprocessor_count if wb.is_gpu() else 2
    threads = 128 * warps  # of four schedulers
    # rows of A are alike, columns of B too: then it does not matter which lane has what
    left, right = rng.integers(1, 4, 16), rng.integers(1, 4, 16)
    pairs = [x.astype(np.float16).view(np.uint32) for x in (left, right)]
    lanes = np.arange(32) % 4
    a = np.stack([pairs[0][lanes], pairs[0][lanes], pairs[0][lanes + 4], pairs[0][lanes + 4]], 1)
    b = np.stack([pairs[1][lanes], pairs[1][lanes + 4]], 1)
    sums = Array((blocks, warps, 4, 32, CHAINS, 4), np.float32)
    numbers = Array((blocks, warps, 4, 32, CHAINS), np.float32)
    cycles = Array((blocks, 4 * warps), np.int32)
    size = {"block": (threads, 1, 1), "grid": (blocks, 1)}
    for _ in range(2):  # the first launch loads the code
        kernel(cuda.In(a), cuda.In(b), sums, numbers, cycles, np.int32(rounds), *map(np.int32, does), **size)
    got_sums, got_numbers = sums.get(), numbers.get()
    for warp in range(warps):
        multiplies, raises = does[0] >> warp & 1, does[1] >> warp & 1
        want = np.full_like(got_sums[:, warp], int(left @ right) * rounds * multiplies)
        wb.check(got_sums[:, warp], want, what=f"sums of warp {warp}")
        want = np.broadcast_to(powers(rounds * raises), got_numbers[:, warp].shape)
        wb.check(got_numbers[:, warp].astype(np.float64), want, 1e-5, f"powers of warp {warp}")
    return float(np.median(cycles.get().max(1)))


if __name__ == "__main__":
    generator, gpu = np.random.default_rng(), wb.is_gpu()
    wb.needs("8.0")
    function, rounds = wb.module("flash-attention/pipes.cu").get_function("pipes"), 2000 if gpu else 3
    print(f"device: {wb.device()['name']}")
    print(f"{'cycles of a scheduler for':34}" + "".join(f"{w} warp{'s' * (w > 1):4}" for w in (1, 2, 3, 4)))
    for name, title, (multiply, power) in (
        ("products", "a product", (15, 0)),
        ("powers", "a power", (0, 15)),
        ("both", "one of each, from one warp", (15, 15)),
        ("split", "one of each, from two warps", (5, 10)),
    ):
        row, warps = [], (2, 4) if name == "split" else (1, 2, 3, 4)
        for count in warps:
            share = count / 2 if name == "split" else count
            row.append(run(function, generator, count, rounds, (multiply, power)) / (rounds * CHAINS * share))
        if gpu:
            print(f"{title:34}" + "".join(f"{x:9.2f}" for x in row))
            wb.series(f"{name}.cycles", warps, row, x_unit="count", unit="1")
            wb.value(f"{name}.one" if name != "split" else "split.two", row[0], "1")
            if name != "split":
                wb.value(f"{name}.two", row[1], "1")
        else:
            print(f"{title:34}right; no GPU, so cycles mean nothing")
