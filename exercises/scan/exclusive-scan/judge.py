"""An exclusive scan of each tile of 256 counts: shuffles within the warps, one barrier."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256


def inputs(random, n):
    return {"counts": random.integers(n, 0, 1000), "n": n}


def tiles(counts):
    return [counts[i : i + BLOCK].astype(np.int64) for i in range(0, counts.size, BLOCK)]


def reference(counts, n):
    starts = np.concatenate([np.cumsum(tile) - tile for tile in tiles(counts)])
    return {"starts": starts, "sums": np.array([tile.sum() for tile in tiles(counts)])}


def counts_itself(failure):
    """An inclusive scan."""
    if failure.name != "starts":
        return None
    inclusive = np.concatenate([np.cumsum(tile) for tile in tiles(failure.inputs["counts"])])
    if not np.array_equal(failure.got, inclusive):
        return None
    return Cause(
        "counts-itself",
        {"i": int(np.argmax(failure.wrong))},
        {
            "en": "{size}: starts[{i}] includes counts[{i}] itself: this is the inclusive scan, and only what stands "
            "before it counts",
            "zh": "{size}：starts[{i}] 把 counts[{i}] 自己也算进去了：这是包含式扫描，只应计入它前面的数",
        },
    )


exercise = Exercise(
    kernel="void offsets(const int* counts, int* starts, int* sums, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    linear="counts",
    causes=(counts_itself,),
    budget=Budget(at=1 << 12, instructions_per_warp=150, barriers_per_warp=2, bank_conflicts=0, bytes_loaded=4 << 12),
)
