"""Blocks that stay and step through the rows, or are handed them: how far they drift apart, and how fast it is.

python drift.py   check; on a GPU also time 32768 rows of 4096 by 198 to 264 blocks
"""

from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from fused import COPY, Matrix, U, spoiled, time_in_turn

N, THREADS = 4096, 512  # as in drift.cu
WAYS = ("stepped", "handed", "scattered")
LAUNCHES = 7  # that are watched


class Rows:
    """x, y and z on the device, and the kernels for so many rows of them."""

    def __init__(self, x: Any, y: Any, z: Any, rows: int) -> None:
        module = wb.module("fused-kernels/drift.cu")
        self.kernels = {way: module.get_function(way) for way in WAYS}
        self.arrays, self.rows = (x, y, z), rows
        self.taken, self.turn_of, self.noted = (cuda.to_device(np.zeros(n, np.int32)) for n in (1, rows, rows))
        self.ended = cuda.to_device(np.zeros(rows, np.uint64))

    def launch(self, way: str, blocks: int) -> None:
        if way != "stepped":
            cuda.memset_d32_async(self.taken, 0, 1)
        watched = (self.taken, self.turn_of, self.noted, np.int32(self.rows // 2), self.ended)
        self.kernels[way](*self.arrays, np.int32(self.rows), *watched, block=(THREADS, 1, 1), grid=(blocks, 1))

    def watch(self, way: str, blocks: int) -> tuple[float, float]:
        """How many rounds the turns in progress span when block 0 is half-way; and how long, in seconds, a block waits
        for the last one to end, on average. Medians of some launches."""
        spans, waits = [], []
        for _ in range(LAUNCHES):
            cuda.memset_d32(self.noted, 0xFFFFFFFF, blocks)
            self.launch(way, blocks)
            noted, ended = np.empty(blocks, np.int32), np.empty(blocks, np.uint64)
            cuda.memcpy_dtoh(noted, self.noted)
            cuda.memcpy_dtoh(ended, self.ended)
            if noted.min() < 0:
                raise AssertionError(f"{way} by {blocks} blocks: block 0 noted nothing")
            spans.append((noted.max() - noted.min() + 1) / blocks)
            waits.append(float((ended.max() - ended).mean()) * 1e-9)
        return float(np.median(spans)), float(np.median(waits))


def want(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """z in float64, and what the roundings of a sum and of a difference may do to it."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    size = np.abs(x * y).mean(1, keepdims=True)
    return y - (x * y).mean(1, keepdims=True) * x, 16 * U * (np.abs(y) + size * np.abs(x))


def check(rng: np.random.Generator, rows: int, blocks: int) -> float:
    x, y = (rng.standard_normal((rows, N), dtype=np.float32) for _ in range(2))
    z, (right, bound), worst = spoiled(rows, N), want(x, y), 0.0
    on_device = [cuda.to_device(a) for a in (x, y, z)]
    tried = Rows(*on_device, rows)
    for way in WAYS:
        cuda.memcpy_htod(on_device[2], z)
        tried.launch(way, blocks)
        got = np.empty_like(z)
        cuda.memcpy_dtoh(got, on_device[2])
        worst = max(worst, wb.check(got, right, bound, f"{way}, {rows} rows by {blocks} blocks"))
    return worst


def time_all(rng: np.random.Generator, counts: list[int]) -> None:
    """All ways by these numbers of blocks, in turn with each other and a copy."""
    m = Matrix(rng, 2**27)
    m.shape(N)
    tried, copy = Rows(m.at["x"], m.at["dy"], m.at["out"], m.rows), m.steps()[COPY]
    launches = {f"{way} {n}": lambda way=way, n=n: tried.launch(way, n) for way in WAYS for n in counts}

    def check_all() -> None:
        right, bound = want(m.some(m.x), m.some(m.dy))
        for name, launch in launches.items():
            m.poison()
            launch()
            wb.check(m.left(), right, bound, name)
        m.check(COPY, copy)

    check_all()
    times = time_in_turn(launches | {COPY: copy.launch}, 0.4)
    check_all()
    base = copy.nbytes / float(np.median(times[COPY]))
    print(f"{'blocks':10}" + "".join(f"{n:21}" for n in counts))
    for way in WAYS:
        low, rate, high = np.array([12 * m.count / np.percentile(times[f"{way} {n}"], [90, 50, 10]) for n in counts]).T
        spans, waits = zip(*(tried.watch(way, n) for n in counts), strict=True)
        wb.series(f"{way}.blocks", counts, rate, x_unit="count", unit="B/s", low=low, high=high)
        wb.value(f"{way}.share", 100 * rate[-1] / base, "%", (100 * low[-1] / base, 100 * high[-1] / base))
        wb.value(f"{way}.span", spans[-1], "1")
        wb.value(f"{way}.wait", waits[-1], "s")
        columns = (f"{r / base:8.1%}{s:5.1f}{w * 1e6:6.1f} µs" for r, s, w in zip(rate, spans, waits, strict=True))
        print(f"{way:10}" + "".join(columns))
    print("of a copy's rate; rounds in progress; time that a block waits for the last one")


if __name__ == "__main__":
    generator = np.random.default_rng()
    print(f"device: {wb.device()['name']}")
    worst = max(check(generator, rows, blocks) for rows, blocks in ((1, 1), (19, 4), (64, 64), (96, 5)))
    print(f"{', '.join(WAYS)}: within {worst:.0%} of the bound")
    if wb.is_gpu():
        wb.needs(memory=4 * 2**30)
        resident = 2 * wb.device()["multiprocessors"]
        time_all(generator, [resident * i // 16 for i in range(12, 17)])
    else:
        print("no GPU: nothing is timed")
