"""Gather pieces of different lengths into one buffer, so that a single copy can take it to the host."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK, MOST = 128, 1000
AT = 64


def lengths(pieces):
    """From 0 to 1000 elements, some pieces empty; the same at each judgement, so that the budget is, too."""
    p = np.arange(pieces)
    return np.where(p % 7 == 6, 0, (p + 1) * 379 % (MOST + 1))


def inputs(random, pieces):
    length = lengths(pieces)
    order = np.argsort(random.integers(pieces, 0, 1 << 20, np.int32), kind="stable")  # how they lie in the pool
    source = np.zeros(pieces, np.int32)
    source[order] = np.concatenate([[0], np.cumsum(length[order] + 3)[:-1]])  # three elements between two pieces
    target = np.concatenate([[0], np.cumsum(length)]).astype(np.int32)
    return {"pool": random.floats(int((length + 3).sum())), "source": source, "target": target, "pieces": pieces}


def packed(pool, source, target, first=lambda p: 0):
    """Piece after piece; `first` elements of piece p are skipped in the pool."""
    at = [np.arange(b - a) + s + first(p) for p, (s, a, b) in enumerate(zip(source, target, target[1:], strict=False))]
    return pool[np.minimum(np.concatenate(at).astype(np.int64), pool.size - 1)]


def reference(pool, source, target, pieces):
    return {"out": packed(pool, source, target).astype(np.float64)}


def source_ignored(failure):
    """out is the beginning of the pool, as if the pieces lay there in order and without gaps."""
    if not np.array_equal(failure.got, failure.inputs["pool"][: failure.got.size]):
        return None
    return Cause(
        "source-ignored",
        {},
        {
            "en": "{size}: out is the beginning of pool; piece p begins at pool[source[p]], and the pieces lie there "
            "in any order, with gaps",
            "zh": "{size}：out 就是 pool 的开头；第 p 段从 pool[source[p]] 开始，各段在 pool 里次序任意，中间有空隙",
        },
    )


def one_too_far(failure):
    """Every piece begins one element too late in the pool."""
    pool, source, target = (failure.inputs[name] for name in ("pool", "source", "target"))
    if not np.array_equal(failure.got, packed(pool, source, target, lambda p: 1)):
        return None
    return Cause(
        "one-too-far",
        {},
        {
            "en": "{size}: every element comes from one place too far on: out[target[p]] is pool[source[p]]",
            "zh": "{size}：每个元素都取自后面一个位置：out[target[p]] 应当是 pool[source[p]]",
        },
    )


exercise = Exercise(
    kernel="void pack(const float* pool, const int* source, const int* target, float* out, int pieces)",
    sizes=sizes(8),
    inputs=inputs,
    reference=reference,
    launch=lambda pieces: Launch(grid=pieces, block=BLOCK),
    causes=(source_ignored, one_too_far),
    budget=Budget(
        at=AT,
        bytes_loaded=1.6 * 4 * int(lengths(AT).sum()),
        bytes_stored=1.4 * 4 * int(lengths(AT).sum()),
        instructions_per_warp=90,
    ),
)
