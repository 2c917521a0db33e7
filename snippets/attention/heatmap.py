"""Weights that one can read: a sentence attends to itself, and a Chinese sentence to its English original.

No network was trained. Queries and keys are written by hand from what the words are (heatmap.py says what), so that
what the weights show is what the scores were given, and nothing more.

python heatmap.py   the same anywhere
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import warpbench as wb
from _pieces import Pieces

# --8<-- [start:sentence]
SENTENCE = "The kernels that the warp launches are fast because they read each row once"
WORDS = SENTENCE.split()
FEATURES = ("singular noun", "plural noun", "pronoun", "verb", "function word", "place")
KIND = [4, 1, 4, 4, 0, 3, 3, 4, 4, 2, 3, 4, 0, 4]  # of each word
LOOKS_FOR = {  # what a word looks for, and how much
    "launches": {"singular noun": 3},  # a verb looks for a subject that agrees with it
    "are": {"plural noun": 3},
    "fast": {"plural noun": 3},
    "they": {"plural noun": 3},
    "read": {"pronoun": 3, "plural noun": 2},
    "row": {"verb": 2},
}
# --8<-- [end:sentence]

# --8<-- [start:pair]
ENGLISH = ["the", "kernel", "reads", "each", "row", "once"]
CHINESE = ["核函数", "每", "行", "只", "读", "一遍"]
MEANS = {  # the concepts of a word; words that share one have similar vectors
    "the": ["article"], "kernel": ["kernel"], "reads": ["read"], "each": ["every"], "row": ["row"],
    "once": ["one", "only"],
    "核函数": ["kernel"], "每": ["every"], "行": ["row"], "只": ["only"], "读": ["read"], "一遍": ["one"],
}  # fmt: skip
# --8<-- [end:pair]


# --8<-- [start:vectors]
def of_sentence(near: float = 0.15) -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys: a key says what a word is, a query what it looks for; both know the word's place, so that of
    two candidates the nearer one that came before is preferred."""
    n, d = len(WORDS), len(FEATURES)
    keys, queries = np.zeros((n, d), np.float32), np.zeros((n, d), np.float32)
    for i, word in enumerate(WORDS):
        keys[i, KIND[i]] = 1
        keys[i, -1] = near * i  # a later key scores higher …
        queries[i, -1] = 1
        for feature, weight in LOOKS_FOR.get(word, {"function word": 0.5}).items():
            queries[i, FEATURES.index(feature)] = weight
    return queries, keys


def of_pair(d: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """A random direction a concept; a word is the sum of its concepts' directions, and a little noise of its own."""
    rng = np.random.default_rng(1409)
    concepts = sorted({c for means in MEANS.values() for c in means})
    directions = {c: rng.standard_normal(d) / np.sqrt(d) for c in concepts}
    vector = {w: sum(directions[c] for c in means) + 0.1 * rng.standard_normal(d) for w, means in MEANS.items()}
    return tuple(np.array([vector[w] for w in words], np.float32) for words in (CHINESE, ENGLISH))


# --8<-- [end:vectors]


def weights(pieces: Pieces, q: np.ndarray, k: np.ndarray, sharp: float, causal: bool = False) -> np.ndarray:
    """softmax(sharp q·k); `causal` hides what comes later."""
    scores = pieces.dot(q, k, sharp)
    if causal:
        scores = np.where(np.tri(len(q), dtype=bool), scores, np.float32(-1e30))
    p = pieces.softmax(scores)
    wide = scores.astype(np.float64)
    want = np.exp(wide - wide.max(1, keepdims=True))
    wb.check(p, want / want.sum(1, keepdims=True), 1e-5, "weights")
    return p


def show(rows: list[str], columns: list[str], p: np.ndarray) -> None:
    """For each row the two largest weights."""
    for word, w in zip(rows, p, strict=True):
        first, second = np.argsort(-w)[:2]
        print(f"{word:>10} → {columns[first]} {w[first]:.2f}, {columns[second]} {w[second]:.2f}")


if __name__ == "__main__":
    pieces = Pieces()
    own = weights(pieces, *of_sentence(), sharp=2.0, causal=True)
    show(WORDS, WORDS, own)
    wb.matrix("sentence", own, rows=WORDS, columns=WORDS, unit="1")
    both = weights(pieces, *of_pair(), sharp=4.0)
    show(CHINESE, ENGLISH, both)
    wb.matrix("pair", both, rows=CHINESE, columns=ENGLISH, unit="1")
