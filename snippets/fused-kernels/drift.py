"""Blocks that stay and step through the rows, or are handed the next row: how far they drift apart, and how fast it is.

python drift.py   check; on a GPU also time 32768 rows of 4096 by 198 to 264 blocks
"""

from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from fused import COPY, Matrix, U, spoiled, time_in_turn

N, THREADS = 4096, 512  # as in drift.cu
WAYS = ("stepped", "handed")
NOTES = 7  # times that the blocks' places are noted


class Rows:
    """x and y on the device, and their kernels. The middle row is where block 0 looks where the others are."""

    def __init__(self, x: Any, y: Any, z: Any, rows: int) -> None:
        module = wb.module("fused-kernels/drift.cu")
        self.kernels = {way: module.get_function(way) for way in WAYS}
        self.arrays, self.rows = (x, y, z), rows
        self.taken, self.at, self.seen = (cuda.to_device(np.zeros(n, np.int32)) for n in (1, rows, rows))

    def launch(self, way: str, blocks: int) -> None:
        if way == "handed":
            cuda.memset_d32_async(self.taken, 0, 1)
        places = (self.taken, self.at, self.seen, np.int32(self.rows // 2))
        self.kernels[way](*self.arrays, np.int32(self.rows), *places, block=(THREADS, 1, 1), grid=(blocks, 1))

    def apart(self, way: str, blocks: int) -> float:
        """Rows between the first and the last block, over the number of blocks: 1 if they are all in one round."""
        places = []
        for _ in range(NOTES):
            self.launch(way, blocks)
            seen = np.empty(blocks, np.int32)
            cuda.memcpy_dtoh(seen, self.seen)
            places.append((seen.max() - seen.min() + 1) / blocks)
        return float(np.median(places))


def want(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """z in float64, and what the roundings of a sum and of a difference may do to it."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    size = np.abs(x * y).mean(1, keepdims=True)
    return y - (x * y).mean(1, keepdims=True) * x, 16 * U * (np.abs(y) + size * np.abs(x))


def check(rng: np.random.Generator, rows: int, blocks: int) -> float:
    x, y = (rng.standard_normal((rows, N), dtype=np.float32) for _ in range(2))
    z, (right, bound), worst = spoiled(rows, N), want(x, y), 0.0
    at = [cuda.to_device(a) for a in (x, y, z)]
    tried = Rows(*at, rows)
    for way in WAYS:
        cuda.memcpy_htod(at[2], z)
        tried.launch(way, blocks)
        got = np.empty_like(z)
        cuda.memcpy_dtoh(got, at[2])
        worst = max(worst, wb.check(got, right, bound, f"{way}, {rows} rows by {blocks} blocks"))
    return worst


def time_all(rng: np.random.Generator, counts: list[int]) -> None:
    """Both ways by these numbers of blocks, all in turn with each other and a copy."""
    m = Matrix(rng, 2**27)
    m.shape(N)
    tried, copy = Rows(m.at["x"], m.at["dy"], m.at["out"], m.rows), m.steps()[COPY]
    launches = {(way, n): lambda way=way, n=n: tried.launch(way, n) for way in WAYS for n in counts}
    for way, n in launches:
        m.poison()
        tried.launch(way, n)
        right, bound = want(m.some(m.x), m.some(m.dy))
        wb.check(m.left(), right, bound, f"{way} by {n} blocks")
    names = {f"{way} {n}": launch for (way, n), launch in launches.items()}
    times = time_in_turn(names | {COPY: copy.launch}, 0.4)
    base = copy.nbytes / float(np.median(times[COPY]))
    print(f"{'blocks':8}" + "".join(f"{n:16}" for n in counts))
    for way in WAYS:
        low, rate, high = np.array([12 * m.count / np.percentile(times[f"{way} {n}"], [90, 50, 10]) for n in counts]).T
        apart = [tried.apart(way, n) for n in counts]
        wb.series(f"{way}.blocks", counts, rate, x_unit="count", unit="B/s", low=low, high=high)
        wb.value(f"{way}.share", 100 * rate[-1] / base, "%", (100 * low[-1] / base, 100 * high[-1] / base))
        wb.value(f"{way}.apart", apart[-1], "1")
        print(f"{way:8}" + "".join(f"{r / base:9.1%}, {a:5.1f}" for r, a in zip(rate, apart, strict=True)))
    print("of a copy's rate, and rounds between the first and the last block")


if __name__ == "__main__":
    generator = np.random.default_rng()
    print(f"device: {wb.device()['name']}")
    worst = max(check(generator, rows, blocks) for rows, blocks in ((1, 1), (19, 4), (64, 64)))
    print(f"stepped and handed: within {worst:.0%} of the bound")
    if wb.is_gpu():
        wb.needs(memory=4 * 2**30)
        resident = 2 * wb.device()["multiprocessors"]
        time_all(generator, [resident * i // 16 for i in range(12, 17)])
    else:
        print("no GPU: nothing is timed")
