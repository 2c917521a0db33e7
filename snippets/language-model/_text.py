"""The corpus, and byte pair encoding: training, encoding and decoding."""

import functools
from pathlib import Path

import numpy as np

MERGES = 256  # on top of the 256 tokens that are the bytes
HELD_OUT = 0.1


@functools.cache
def corpus() -> bytes:
    """Paragraphs of this book, of November 2026, in both languages and in random order, a line each."""
    return Path(__file__).with_name("corpus.txt").read_bytes()


# --8<-- [start:merge]
def merge(ids: np.ndarray, pair: tuple[int, int], new: int) -> np.ndarray:
    """Every occurrence of `pair` becomes the token `new`. In a run such as a a a, the left one wins."""
    hit = np.flatnonzero((ids[:-1] == pair[0]) & (ids[1:] == pair[1]))
    if pair[0] == pair[1] and hit.size:  # occurrences may overlap: keep every second one of each run
        at = np.arange(hit.size)
        first = np.r_[True, np.diff(hit) > 1]
        hit = hit[(at - np.maximum.accumulate(np.where(first, at, 0))) % 2 == 0]
    ids = ids.copy()
    ids[hit] = new
    return np.delete(ids, hit + 1)


def train_bpe(data: bytes, merges: int) -> list[tuple[int, int]]:
    """Merge the pair that occurs most often, again and again; of equals, the one with the smallest numbers."""
    ids, pairs = np.frombuffer(data, np.uint8).astype(np.int64), []
    for new in range(256, 256 + merges):
        size = new
        counts = np.bincount(ids[:-1] * size + ids[1:])
        best = int(counts.argmax())
        pairs.append((best // size, best % size))
        ids = merge(ids, pairs[-1], new)
    return pairs


def encode(data: bytes, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Tokens of any bytes: all merges in the order in which they were learned."""
    ids = np.frombuffer(data, np.uint8).astype(np.int64)
    for new, pair in enumerate(pairs, 256):
        ids = merge(ids, pair, new)
    return ids


def spell(pairs: list[tuple[int, int]]) -> list[bytes]:
    """The bytes of each token."""
    words = [bytes([b]) for b in range(256)]
    for a, b in pairs:
        words.append(words[a] + words[b])
    return words


# --8<-- [end:merge]


def decode(ids: np.ndarray, pairs: list[tuple[int, int]]) -> bytes:
    words = spell(pairs)
    return b"".join(words[i] for i in ids)


@functools.cache
def merges() -> list[tuple[int, int]]:
    """Learned from the part of the corpus that the model trains on."""
    return train_bpe(split(corpus())[0], MERGES)


def split(data: bytes) -> tuple[bytes, bytes]:
    """The first nine tenths to train with, and whole lines at the end that training never sees."""
    at = data.index(b"\n", int(len(data) * (1 - HELD_OUT))) + 1
    return data[:at], data[at:]


# --8<-- [start:entropy]
def entropy(ids: np.ndarray) -> tuple[float, float]:
    """Nats per token of a text: of its tokens on their own, and of a token given the one before it. Exact."""
    ids = np.unique(ids, return_inverse=True)[1]
    size = ids.max() + 1
    before, after = ids[:-1], ids[1:]
    one, lead = np.bincount(after), np.bincount(before)
    two = np.unique(before * size + after, return_counts=True)[1]

    def nats(counts: np.ndarray) -> float:
        p = counts[counts > 0] / counts.sum()
        return float(-(p * np.log(p)).sum())

    return nats(one), nats(two) - nats(lead)


def pair_model(ids: np.ndarray, unseen: np.ndarray, size: int) -> float:
    """Nats per token of another text, by counts of pairs: of each pair seen, 3/4 of a count goes to all tokens."""
    one = (np.bincount(ids, minlength=size) + 0.5) / (len(ids) + 0.5 * size)
    two = np.bincount(ids[:-1] * size + ids[1:], minlength=size * size).reshape(size, size)
    total, kinds = np.maximum(two.sum(1), 1), (two > 0).sum(1)
    before, after = unseen[:-1], unseen[1:]
    kept = np.maximum(two[before, after] - 0.75, 0) / total[before]
    spread = np.where(kinds[before] > 0, 0.75 * kinds[before] / total[before], 1)
    return float(-np.log(kept + spread * one[after]).mean())


# --8<-- [end:entropy]
