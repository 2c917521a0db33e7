"""Divide K: how many parts, what a fix-up costs, whether a result repeats, and tile counts that fit no wave.

python split.py   check; on a GPU also time a map of M and splits, and 56 to 140 tiles of rows
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb
from _gemv import (
    TILE,
    Problem,
    atomics,
    compile_all,
    copy,
    cublas,
    fixed_up,
    resident,
    rounds,
    shares,
    simple,
    spread,
    stream,
    timed,
)

SPLITS = [1, 2, 3, 4, 6, 8, 16]
BATCHES = [1, 2, 4, 8, 16]
TILES = [56, 60, 64, 66, 67, 69, 72, 80, 88, 96, 112, 128, 132, 134, 140]


def distinct(rng: np.random.Generator, repeats: int = 20) -> None:
    """How many different results the same product gives, on numbers whose sums are rounded."""
    p = Problem(rng, 16, 512, 4096)
    for name, launch in (("v6", atomics(8)), ("v7", fixed_up(8)), ("v8", stream(30))):
        results = set()
        for _ in range(repeats):
            p.check(launch, name)
            results.add(p.result().tobytes())
        if wb.is_gpu():
            wb.value(f"{name}.distinct", len(results), "count")
        if name != "v6" and len(results) > 1:
            raise AssertionError(f"{name}: {len(results)} different results")
        print(f"{name}: {'' if name == 'v6' else '1 result of '}{repeats} runs")


def map_of_splits(rng: np.random.Generator) -> None:
    """Rates of v7 over M and the number of splits, with cuBLAS as the last column; both splits' curves at M = 16."""
    whole = Problem(rng, 16, 8192, 32768, whole=True, copies=2)
    table = []
    for m in BATCHES:
        p = whole.first_rows(m)
        ways = [fixed_up(s) for s in SPLITS] + ([atomics(s) for s in SPLITS] if m == 16 else [])
        for way in ways:
            p.check(way, "split")
        times = rounds([*(timed(p, way) for way in ways), cublas(p)], seconds=0.05)
        rates = [spread([p.nbytes / t for t in one]) for one in times]
        row = [rate[0] / 1e9 for rate in (*rates[: len(SPLITS)], rates[-1])]
        table.append(row)
        print(f"M = {m:2}  " + "".join(f"{rate:7.0f}" for rate in row))
        if m == 16:
            for i, name in enumerate(("v7", "v6")):
                median, low, high = zip(*rates[i * len(SPLITS) : (i + 1) * len(SPLITS)], strict=True)
                x = [float(s) for s in SPLITS]
                wb.series(f"{name}.splits", x, median, x_unit="count", unit="B/s", low=low, high=high)
    wb.matrix("splits", table, [f"{m}" for m in BATCHES], [*map(str, SPLITS), "cuBLAS"])


def waves(rng: np.random.Generator) -> None:
    """v7 with 4 splits and v8 over the number of tiles. Four splits of 66 tiles are as many blocks as fit at once."""
    whole = Problem(rng, 16, TILE * max(TILES), 16384, whole=True, copies=2)
    columns: dict[str, list] = {"v7": [], "v8": []}
    gains = {}
    for tiles in TILES:
        p = whole.first_weights(TILE * tiles)
        ways = {"v7": fixed_up(4), "v8": stream(resident())}
        for name, way in ways.items():
            p.check(way, name)
        times = rounds([timed(p, way) for way in ways.values()], seconds=0.05)
        for name, one in zip(ways, times, strict=True):
            columns[name].append(spread([p.nbytes / t for t in one]))
        gains[tiles] = shares(times[1], times[0], 1.0)
        rates = [columns[name][-1][0] / 1e9 for name in columns]
        print(f"{tiles:3} tiles, {4 * tiles / resident():.2f} waves: v7 {rates[0]:5.0f}, v8 {rates[1]:5.0f} GB/s")
    for name, found in columns.items():
        median, low, high = zip(*found, strict=True)
        wb.series(f"{name}.tiles", [float(t) for t in TILES], median, x_unit="count", unit="B/s", low=low, high=high)
    for tiles in (66, 69):
        wb.value(f"stream.gain_{tiles}", gains[tiles][0], "1", gains[tiles][1:])


def few_rows(rng: np.random.Generator) -> None:
    """1024 rows, as many bytes: 8 tiles. Without splits only 8 SMs work."""
    p = Problem(rng, 16, 1024, 262144, whole=True, copies=2)
    ways = {"one": simple("v5", padded=True), "split": fixed_up(resident() // 8), "stream": stream(resident())}
    for name, way in ways.items():
        p.check(way, name)
    *times, library, copied = rounds([*(timed(p, way) for way in ways.values()), cublas(p), copy()], seconds=0.1)
    for name, ours in zip((*ways, "cublas"), (*times, library), strict=True):
        t, of_copy = wb.Timing(*spread(ours), repeats=len(ours)), shares(ours, copied, 50.0)
        wb.timing(f"few.{name}", t, nbytes=p.nbytes)
        wb.value(f"few.{name}.copy_share", of_copy[0], "%", of_copy[1:])
        print(f"1024 rows, {name:8}{t.median * 1e3:9.3f} ms{of_copy[0]:8.1f} % of copy")


if __name__ == "__main__":
    generator = np.random.default_rng()
    wb.needs("8.0")
    for m in (3, 16):
        p = Problem(generator, m, 200, 1000)
        for splits in (1, 2, 5, 8):
            for name, launch in (("v6", atomics(splits)), ("v7", fixed_up(splits)), ("v8", stream(splits))):
                p.check(launch, name)
        print(f"M = {m}: v6, v7 and v8 in 1 to 8 parts, within the bound")
    distinct(generator, 20 if wb.is_gpu() else 2)
    if wb.is_gpu():
        wb.needs("8.0", memory=6 * 2**30)
        compile_all(BATCHES)
        map_of_splits(generator)
        waves(generator)
        few_rows(generator)
    else:
        print("no GPU: nothing is timed")
