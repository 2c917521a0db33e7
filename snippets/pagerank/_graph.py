"""The graphs of this article, and PageRank by NumPy.

`References` is this book's own graph of citations. It comes from references.csv, which `python -m warpbook.references`
makes from the pages. `power_law` makes a large one up. Both are CSR by the node that is cited: row i of `sources`,
from offsets[i] to offsets[i + 1], says who cites i.
"""

import csv
from pathlib import Path

import numpy as np

DAMPING = 0.85


class Csr:
    """Edges from `source` to `target`, sorted by target."""

    def __init__(self, n: int, source: np.ndarray, target: np.ndarray) -> None:
        self.n, self.edges = n, len(source)
        order = np.argsort(target, kind="stable")
        self.sources = np.ascontiguousarray(source[order], np.int32)
        self.offsets = np.zeros(n + 1, np.int32)
        self.offsets[1:] = np.cumsum(np.bincount(target, minlength=n))
        self.degree = np.bincount(source, minlength=n).astype(np.int32)  # how many each node cites
        self.target = np.ascontiguousarray(target[order], np.int32)


# --8<-- [start:step]
def step(graph: Csr, rank: np.ndarray, damping: float = DAMPING) -> np.ndarray:
    """One iteration: each node shares its rank among those it cites; who cites nobody shares with everybody."""
    share = np.divide(rank, graph.degree, where=graph.degree > 0, out=np.zeros_like(rank))
    dangling = rank[graph.degree == 0].sum()
    pulled = np.bincount(graph.target, weights=share[graph.sources], minlength=graph.n)
    return (1 - damping + damping * dangling) / graph.n + damping * pulled


def ranks(graph: Csr, tolerance: float = 1e-14) -> np.ndarray:
    rank = np.full(graph.n, 1 / graph.n)
    while True:
        rank, before = step(graph, rank), rank
        if np.abs(rank - before).sum() < tolerance:
            return rank


# --8<-- [end:step]


class References:
    """Pages and sources of this book, by name; who links to or cites whom."""

    def __init__(self) -> None:
        with Path(__file__).with_name("references.csv").open(encoding="utf-8", newline="") as rows:
            self.rows = [(row["page"], row["how"], row["target"]) for row in csv.DictReader(rows)]
        self.pages = sorted({page for page, _, _ in self.rows} | {name for _, how, name in self.rows if how == "links"})
        self.sources = sorted({name for _, how, name in self.rows if how == "cites"})
        self.names = self.pages + self.sources
        number = {name: i for i, name in enumerate(self.names)}
        self.edges = [(number[page], number[target]) for page, _, target in self.rows]
        self.csr = Csr(len(self.names), *np.array(self.edges).T)

    def cites(self) -> np.ndarray:
        """A[p, s] is 1 where page p cites source s."""
        row, column = ({name: i for i, name in enumerate(names)} for names in (self.pages, self.sources))
        a = np.zeros((len(self.pages), len(self.sources)), np.int64)
        for page, how, target in self.rows:
            if how == "cites":
                a[row[page], column[target]] = 1
        return a


def power_law(n: int, edges: int, seed: int, skew: float = 3.0) -> Csr:
    """`edges` different edges among `n` nodes: few are cited by very many, and a tenth cite nobody.

    The node of rank r is cited with a weight of r^(1/skew - 1), so in-degrees fall as a power of the rank.
    """
    rng = np.random.default_rng(seed)
    names = rng.permutation(n)  # so that the much cited do not lie side by side
    keys = np.empty(0, np.int64)
    while len(keys) < edges:
        want = (edges - len(keys)) * 11 // 10 + 16
        source = names[rng.integers(0, max(1, n * 9 // 10), want)].astype(np.int64)
        target = names[(n * rng.random(want) ** skew).astype(np.int64)]
        keys = np.sort(np.concatenate([keys, target * n + source]))  # by target, then by source
        keys = keys[np.append(True, keys[1:] != keys[:-1])]
    keys = np.delete(keys, np.linspace(0, len(keys) - 1, len(keys) - edges).astype(np.int64))
    return Csr(n, keys % n, keys // n)
