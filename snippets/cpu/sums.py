"""The same numbers added in different orders: along rows, down columns, down padded columns, and with strides."""

import ctypes

import numpy as np
import warpbench as wb
from _native import SCALAR, interleaved, library, pointer, size

ROUNDS = 41
SIDE, LINES = 1024, 64  # a matrix of 1024 x 1024 words, of which we add 64 rows or 64 columns
PAD = 16  # words: one cache line of 64 bytes
COUNT, STRIDES = 2**16, (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
built = library("sums.c", *SCALAR)
for function in (built.rows, built.columns, built.strided):
    function.restype = ctypes.c_uint32


def expected(x: np.ndarray) -> int:
    """The sum modulo 2^32, as unsigned words wrap around."""
    return int(x.sum(dtype=np.uint64)) % 2**32


def orders(rng: np.random.Generator) -> dict:
    """What to run: by name, a call that adds SIDE x LINES words, checked once."""
    matrix = rng.integers(0, 2**32, (SIDE, SIDE), dtype=np.uint32)
    padded = np.zeros((SIDE, SIDE + PAD), np.uint32)
    padded[:, :SIDE] = matrix
    ways = {
        "rows": (built.rows, matrix, LINES, SIDE, expected(matrix[:LINES])),
        "columns": (built.columns, matrix, SIDE, LINES, expected(matrix[:, :LINES])),
        "padded": (built.columns, padded, SIDE, LINES, expected(matrix[:, :LINES])),
    }
    calls = {}
    for name, (walk, x, height, width, want) in ways.items():
        calls[name] = lambda walk=walk, x=x, h=height, w=width: walk(pointer(x), size(h), size(w), size(x.shape[1]))
        assert calls[name]() == want, f"{name}: a wrong sum"
    return calls


def strides(rng: np.random.Generator) -> dict:
    """By stride, a call that adds COUNT words; each call goes on where the one before stopped, in 128 MiB."""
    x = rng.integers(0, 2**32, 2**25, dtype=np.uint32)
    places = dict.fromkeys(STRIDES, 0)

    def walk(stride: int) -> int:
        start = places[stride]
        end = start + COUNT * stride
        places[stride] = end if end + COUNT * stride <= x.size else 0
        return built.strided(pointer(x[start:]), size(COUNT), size(stride))

    for stride in STRIDES:
        assert walk(stride) == expected(x[: COUNT * stride : stride]), f"stride {stride}: a wrong sum"
    return {stride: lambda stride=stride: walk(stride) for stride in STRIDES}


if __name__ == "__main__":
    wb.measure_cpu()
    generator = np.random.default_rng()
    print(f"{'':10}{'ns':>8}    per number, shortest run and median")
    for name, seconds in interleaved(orders(generator), ROUNDS).items():
        best, usual = (1e9 * s / (SIDE * LINES) for s in (seconds[0], seconds[len(seconds) // 2]))
        wb.value(f"{name}.time", best * 1e-9, "s")
        print(f"{name:10}{best:8.2f}{usual:10.2f}")
    taken = interleaved(strides(generator), ROUNDS)
    best_of = [taken[stride][0] / COUNT for stride in STRIDES]
    medians = [taken[stride][len(taken[stride]) // 2] / COUNT for stride in STRIDES]
    wb.series("stride.sweep", STRIDES, best_of, x_unit="count", unit="s", low=best_of, high=medians)
    for stride, one, usual in zip(STRIDES, best_of, medians, strict=True):
        print(f"{f'stride {stride}':10}{one * 1e9:8.2f}{usual * 1e9:10.2f}")
        if stride in (1, 8, 16):
            wb.value(f"stride{stride}.time", one, "s")
