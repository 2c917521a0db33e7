"""The look-back simulated: how long a tile takes if a block looks at 1, 2, 4, … tiles at once. And v7 with clocks.

python lookback.py   simulate and check; on a GPU also read the clocks of 2^28 numbers
"""

import heapq
import math
import random

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

# --8<-- [start:model]
RESIDENT = 132 * 6  # blocks: the registers of v7 let six blocks of 256 threads run on an SM
LOAD, STORE = 2000, 500  # ns until the sum of a tile is known, and from its prefix to the end of its block
LOOK = 700  # ns for a load from the L2, under load
SPREAD = 0.45  # set later: the slowest load in a hundred takes nearly three times the median
COPY = 2 * 4 * 4096 / 4.215e12 * 1e9  # ns to read and write a tile at the rate of a copy


def simulate(width: int, tiles: int, spread: float = 0) -> float:
    """Nanoseconds per tile if each look shows `width` tiles, and loads take LOAD times e^(spread * a normal number)."""
    random.seed(1)
    load = [LOAD * math.exp(spread * random.gauss(0, 1)) for _ in range(tiles)]
    summed, prefixed = [math.inf] * tiles, [math.inf] * tiles  # when a tile's sum and its prefix become visible
    events = [(i * COPY + load[i], "sum", i, 0) for i in range(min(RESIDENT, tiles))]
    started, memory_free = len(events), len(events) * COPY
    while events:
        now, what, tile, near = heapq.heappop(events)  # near: the nearest tile that is still to be looked at
        if what == "end":  # a block makes room for the next
            if started < tiles:
                memory_free = max(now, memory_free + COPY)  # DRAM serves a tile every COPY ns
                heapq.heappush(events, (memory_free + load[started], "sum", started, 0))
                started += 1
            continue
        if what == "sum":
            summed[tile], near = now, tile - 1
        else:
            seen = now - LOOK / 2  # when the L2 answered
            for k in range(near, max(-1, near - width), -1):
                if prefixed[k] <= seen:
                    near = -1
                    break
                if summed[k] > seen:
                    break  # look again
            else:
                near -= width
        if near < 0:
            prefixed[tile] = now + LOOK / 2
            heapq.heappush(events, (now + STORE, "end", tile, 0))
        else:
            heapq.heappush(events, (now + LOOK, "look", tile, near))
    return now / tiles


# --8<-- [end:model]


def clocks(n: int) -> np.ndarray:
    """Cycles that each tile of n integers took to be loaded and scanned, and to look back: an array of two columns."""
    module = wb.module("scan/scan.cu", append=wb.source("scan/lookback.cu"), ELEMENT="int")
    tiles = -(-n // 4096)
    values = np.random.default_rng().integers(-(2**31), 2**31, n, np.int32)
    data, out, words, cycles = (cuda.mem_alloc(size) for size in (4 * n, 4 * n, 8 * (tiles + 1), 16 * tiles))
    cuda.memcpy_htod(data, values)
    cuda.memset_d32(out, 0xFFFFFFFF, n)
    cuda.memset_d32(words, 0, 2 * (tiles + 1))
    first = np.uint64(int(words) + 8)
    kernel = module.get_function("scan_clocked")
    kernel(data, out, first, words, np.int64(n), cycles, block=(256, 1, 1), grid=(tiles, 1))
    got, took = np.empty(n, np.int32), np.empty((tiles, 2), np.int64)
    cuda.memcpy_dtoh(got, out)
    cuda.memcpy_dtoh(took, cycles)
    wb.check(got, np.cumsum(values, dtype=np.int32), what="scan_clocked")
    return took


if __name__ == "__main__":
    widths = [1, 2, 4, 8, 16, 32]
    even, uneven = ([simulate(width, 6000, spread) for width in widths] for spread in (0, SPREAD))
    for width, *times in zip(widths, even, uneven, strict=True):
        print(f"{width:2} tiles per look: {times[0]:5.1f} ns per tile; {times[1]:5.1f} ns if loads take unevenly long")
    print(f"DRAM needs {COPY:.1f} ns per tile")
    wb.series("simulated.even", widths, [time * 1e-9 for time in even], x_unit="count", unit="s")
    wb.series("simulated.uneven", widths, [time * 1e-9 for time in uneven], x_unit="count", unit="s")
    wb.value("simulated.dram", COPY * 1e-9, "s")
    took = clocks(2**28 if wb.is_gpu() else 2**16 + 7)
    print("v7 with clocks: every sum is right")
    if wb.is_gpu():
        middle = took[len(took) // 4 : -len(took) // 4]  # neither the first blocks nor the last
        for name, column in (("load", middle[:, 0]), ("look", middle[:, 1])):
            median, slow = np.percentile(column, [50, 99])
            wb.value(f"{name}.median", median, "count")
            wb.value(f"{name}.slow", slow, "count")
            print(f"{name}: {median:.0f} cycles in the median, {slow:.0f} or more for one tile in a hundred")
