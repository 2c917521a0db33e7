"""One step of PageRank's product: the sum of each row of a sparse matrix, eight lanes per row."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK, LANES = 256, 8
ROWS = BLOCK // LANES  # per block


def inputs(random, rows):
    lengths = random.integers(rows, 0, 24, "int32") * (random.integers(rows, 0, 4, "int32") > 0)  # a fifth is empty
    lengths[rows // 2] = 90
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    sources = random.integers(int(offsets[-1]), 0, rows - 1, "int32")
    return {"offsets": offsets, "sources": sources, "share": random.whole(rows), "rows": rows}


def reference(offsets, sources, share, rows):
    row = np.repeat(np.arange(rows), np.diff(offsets))
    return {"sums": np.bincount(row, weights=share.astype(np.float64)[sources], minlength=rows)}


def neighbours_added(failure):
    """The first row of each warp has the sum of all its rows."""
    got, want = failure.got[::4].astype(np.float64), np.add.reduceat(failure.want, np.arange(0, failure.want.size, 4))
    if failure.want.size < 2 or not np.array_equal(got, want):
        return None
    return Cause(
        "neighbours-added",
        {"got": float(got[0]), "want": float(failure.want[0])},
        {
            "en": "{size}: sums[0] is {got}, expected {want}: it is the sum of all rows that share a warp with row 0. "
            "A shuffle brings values from the lanes of another row: use distances below 8, or a width of 8",
            "zh": "{size}：sums[0] 是 {got}，应为 {want}：这是与第 0 行同在一个线程束的各行之和。"
            "洗牌指令取到了别的行的 lane：距离要小于 8，或者把宽度设为 8",
        },
        "pagerank#lanes",
    )


exercise = Exercise(
    kernel="void pull(const int* offsets, const int* sources, const float* share, float* sums, int rows)",
    sizes=sizes(ROWS),
    inputs=inputs,
    reference=reference,
    launch=lambda rows: Launch(grid=-(-rows // ROWS), block=BLOCK),
    linear="share",
    causes=(neighbours_added,),
    budget=Budget(at=1 << 11, instructions_per_warp=150, barriers_per_warp=0, atomics=0),
)
