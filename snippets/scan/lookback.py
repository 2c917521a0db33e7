"""Simulate the look-back: how long a tile takes if a block looks at 1, 2, 4, … tiles at once. No GPU is asked.

python lookback.py   nanoseconds per tile for each width, with 792 resident blocks and 700 ns per look
"""

import heapq
import math

import pycuda.autoprimaryctx  # noqa: F401  records name their device
import warpbench as wb

# --8<-- [start:model]
RESIDENT = 132 * 6  # blocks: 37 registers per thread let six blocks of 256 threads run on an SM
LOAD, STORE = 2000, 500  # ns until the sum of a tile is known, and from its prefix to the end of its block
LOOK = 700  # ns for a load from the L2, under load
COPY = 2 * 4 * 4096 / 4.215e12 * 1e9  # ns to read and write a tile at the rate of a copy


def simulate(width: int, tiles: int, resident: int = RESIDENT, look: float = LOOK) -> float:
    """Nanoseconds per tile if each look shows `width` tiles."""
    summed, prefixed = [math.inf] * tiles, [math.inf] * tiles  # when a tile's sum and its prefix become visible
    events = [(i * COPY + LOAD, "sum", i, 0) for i in range(min(resident, tiles))]
    started, memory_free = len(events), len(events) * COPY
    while events:
        now, what, tile, near = heapq.heappop(events)  # near: the nearest tile that is still to be looked at
        if what == "end":  # a block makes room for the next
            if started < tiles:
                memory_free = max(now, memory_free + COPY)  # DRAM serves a tile every COPY ns
                heapq.heappush(events, (memory_free + LOAD, "sum", started, 0))
                started += 1
            continue
        if what == "sum":
            summed[tile], near = now, tile - 1
        else:
            seen = now - look / 2  # when the L2 answered
            for k in range(near, max(-1, near - width), -1):
                if prefixed[k] <= seen:
                    near = -1
                    break
                if summed[k] > seen:
                    break  # look again
            else:
                near -= width
        if near < 0:
            prefixed[tile] = now + look / 2
            heapq.heappush(events, (now + STORE, "end", tile, 0))
        else:
            heapq.heappush(events, (now + look, "look", tile, near))
    return now / tiles


# --8<-- [end:model]

if __name__ == "__main__":
    widths = [1, 2, 4, 8, 16, 32]
    times = [simulate(width, 6000) for width in widths]
    for width, time in zip(widths, times, strict=True):
        print(f"{width:2} tiles per look: {time:5.1f} ns per tile; DRAM needs {COPY:.1f} ns")
    wb.series("simulated.tile", widths, [time * 1e-9 for time in times], x_unit="count", unit="s")
    wb.value("simulated.dram", COPY * 1e-9, "s")
