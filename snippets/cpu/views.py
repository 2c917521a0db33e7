"""Strides: transpose, broadcast and window as views of the same memory; and a ufunc beside a Python loop."""

import numpy as np
import warpbench as wb
from _native import interleaved
from numpy.lib.stride_tricks import as_strided

ROUNDS = 51
COUNT, LOOPED = 2**20, 2**14  # numbers that the ufunc adds, and the loop


# --8<-- [start:views]
def transposed(x: np.ndarray) -> np.ndarray:
    return as_strided(x, shape=x.shape[::-1], strides=x.strides[::-1])


def broadcast(row: np.ndarray, rows: int) -> np.ndarray:
    return as_strided(row, shape=(rows, row.size), strides=(0, *row.strides), writeable=False)


def windows(x: np.ndarray, width: int) -> np.ndarray:
    return as_strided(x, shape=(x.size - width + 1, width), strides=2 * x.strides, writeable=False)


# --8<-- [end:views]


def check_views(rng: np.random.Generator) -> None:
    """Every view against elements picked one by one: exact, and without memory of its own."""
    x = rng.integers(-(2**31), 2**31, (7, 5), dtype=np.int32)
    row = x[3]
    want = {
        "transpose": (transposed(x), [[x[j, i] for j in range(7)] for i in range(5)]),
        "broadcast": (broadcast(row, 4), [[row[j] for j in range(5)] for _ in range(4)]),
        "window": (windows(row, 3), [[row[i + j] for j in range(3)] for i in range(3)]),
    }
    for name, (view, elements) in want.items():
        wb.check(view, np.array(elements), what=name)
        assert np.shares_memory(view, x), f"{name}: a copy"
        print(f"{name:10} shape {view.shape}, strides {view.strides}: exact, no copy")
    assert not np.shares_memory(np.ascontiguousarray(transposed(x)), x)
    left = rng.standard_normal((6, 12)).astype(np.float32)[:, :5]  # a leading dimension of 12: BLAS takes it as it is
    right = rng.standard_normal((5, 4)).astype(np.float32)
    wide = left.astype(np.float64), right.astype(np.float64)
    wb.check(left @ right, wide[0] @ wide[1], 6 * 2.0**-24 * (abs(wide[0]) @ abs(wide[1])), "a product of a view")


def loop(x: list[float], y: list[float]) -> list[float]:
    return [a + b for a, b in zip(x, y, strict=True)]


if __name__ == "__main__":
    wb.measure_cpu()
    generator = np.random.default_rng()
    check_views(generator)
    one, two = generator.random((2, COUNT), dtype=np.float32)
    lists, out = (one[:LOOPED].tolist(), two[:LOOPED].tolist()), np.full_like(one, np.nan)
    wb.check(np.add(one, two)[:LOOPED], np.array(loop(*lists)), 2.0**-24 * abs(one + two)[:LOOPED], "the ufunc")
    ways = {"loop": (lambda: loop(*lists), LOOPED), "ufunc": (lambda: np.add(one, two, out=out), COUNT)}
    print(f"\n{'':8}{'ns':>8}    per number")
    for name, seconds in interleaved({name: run for name, (run, _) in ways.items()}, ROUNDS).items():
        best = seconds[0] / ways[name][1]
        wb.value(f"{name}.time", best, "s")
        print(f"{name:8}{1e9 * best:8.2f}")
