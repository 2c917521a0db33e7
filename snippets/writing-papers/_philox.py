"""Philox in NumPy at both widths: with 64 bits it must agree with NumPy's own, with 32 bits with the kernel."""

import numpy as np

# --8<-- [start:philox]
MULTIPLIERS = {32: (0xD2511F53, 0xCD9E8D57), 64: (0xD2E7470EE14C6C93, 0xCA5A826395121157)}
STEPS = {32: (0x9E3779B9, 0xBB67AE85), 64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}


def philox(counter: list[np.ndarray], key: tuple[int, int], width: int) -> list[np.ndarray]:
    """Four words of `width` bits for each counter of four words; Python's integers, so nothing wraps around."""
    mask = (1 << width) - 1
    c = [np.asarray(word, object) for word in counter]
    k = list(key)
    for _ in range(10):
        p0, p1 = MULTIPLIERS[width][0] * c[0], MULTIPLIERS[width][1] * c[2]
        c = [(p1 >> width) ^ c[1] ^ k[0], p1 & mask, (p0 >> width) ^ c[3] ^ k[1], p0 & mask]
        k = [(word + step) & mask for word, step in zip(k, STEPS[width], strict=True)]
    return c


# --8<-- [end:philox]

# --8<-- [start:draws]
M, W = [np.uint64(x) for x in MULTIPLIERS[32]], [np.uint64(x) for x in STEPS[32]]
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def draws(n: int, resamples: np.ndarray, sample: int, seed: tuple[int, int]) -> np.ndarray:
    """The kernel's indices, (resample, draw), by 64-bit products instead of the high half of 32-bit ones."""
    calls = -(-n // 4)
    c = [
        np.tile(np.arange(calls, dtype=np.uint64), (len(resamples), 1)),
        np.repeat(resamples.astype(np.uint64)[:, None], calls, 1),
        np.full((len(resamples), calls), sample, np.uint64),
        np.zeros((len(resamples), calls), np.uint64),
    ]
    k = [np.uint64(word) for word in seed]
    for _ in range(10):
        p0, p1 = M[0] * c[0], M[1] * c[2]
        c = [(p1 >> HALF) ^ c[1] ^ k[0], p1 & LOW, (p0 >> HALF) ^ c[3] ^ k[1], p0 & LOW]
        k = [(word + step) & LOW for word, step in zip(k, W, strict=True)]
    words = np.stack(c, -1).reshape(len(resamples), 4 * calls)[:, :n]
    return ((words * np.uint64(n)) >> HALF).astype(np.int64)


# --8<-- [end:draws]

KNOWN = [  # counter, key, words: the known answers of Random123, the library of Philox's authors
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def check_philox(rng: np.random.Generator) -> None:
    """64 bits against NumPy's generator, 32 bits against the known answers, and the quick way against the slow one."""
    key = tuple(int(x) for x in rng.integers(0, 1 << 64, 2, np.uint64))
    start = [int(x) for x in rng.integers(0, 1 << 62, 4, np.uint64)]
    theirs = np.random.Philox(key=np.array(key, np.uint64), counter=np.array(start, np.uint64)).random_raw(4)
    mine = philox([start[0] + 1, *start[1:]], key, 64)  # NumPy counts before it draws
    assert [int(x) for x in theirs] == [int(x) for x in mine], "64 bits: not NumPy's Philox"
    for counter, short, words in KNOWN:
        assert tuple(int(x) for x in philox(list(counter), short, 32)) == words, "32 bits: not the known answer"
    n, resamples, seed = 11, rng.integers(0, 1 << 32, 5), (int(rng.integers(1 << 32)), 7)
    slow = [philox([call, int(r), 1, 0], seed, 32) for r in resamples for call in range(3)]
    want = np.array(slow, object).reshape(5, 12)[:, :n] * n >> 32
    assert (draws(n, resamples, 1, seed) == want).all(), "the quick way draws something else"
