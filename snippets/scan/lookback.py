"""Simulate the look-back: how long a tile takes if a block looks at 1, 2, 4, … tiles at once. No GPU is asked.

python lookback.py   nanoseconds per tile for each width, with 792 resident blocks and 700 ns per look
"""

import heapq
import math
import random

import pycuda.autoprimaryctx  # noqa: F401  records name their device
import warpbench as wb

# --8<-- [start:model]
RESIDENT = 132 * 6  # blocks: 37 registers per thread let six blocks of 256 threads run on an SM
LOAD, STORE = 2000, 500  # ns until the sum of a tile is known, and from its prefix to the end of its block
LOOK = 700  # ns for a load from the L2, under load
SPREAD = 0.45  # measured later: the slowest load in a hundred takes three times the median
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

if __name__ == "__main__":
    widths = [1, 2, 4, 8, 16, 32]
    even, uneven = ([simulate(width, 6000, spread) for width in widths] for spread in (0, SPREAD))
    for width, *times in zip(widths, even, uneven, strict=True):
        print(f"{width:2} tiles per look: {times[0]:5.1f} ns per tile; {times[1]:5.1f} ns if loads take unevenly long")
    print(f"DRAM needs {COPY:.1f} ns per tile")
    wb.series("simulated.even", widths, [time * 1e-9 for time in even], x_unit="count", unit="s")
    wb.series("simulated.uneven", widths, [time * 1e-9 for time in uneven], x_unit="count", unit="s")
    wb.value("simulated.dram", COPY * 1e-9, "s")
