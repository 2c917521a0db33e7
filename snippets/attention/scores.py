"""Scoring functions: what they compute, held against float64, and what they cost.

python scores.py             check; on a GPU also time 4096 queries against 4096 keys of 64
python scores.py --profile   launch the two score kernels once for a profiler
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _pieces import Pieces, blocks

SHAPES = [(1, 1, 1), (3, 31, 4), (33, 17, 33), (50, 77, 64)]  # queries, keys, numbers each


def reference(rng: np.random.Generator, queries: int, keys: int, d: int) -> dict[str, np.ndarray]:
    """Inputs, and in float64 the scores of all four functions, with a bound for float32."""
    q, k, v = (rng.standard_normal(shape).astype(np.float32) for shape in ((queries, d), (keys, d), (d,)))
    w, a, b = (rng.standard_normal((d, d)).astype(np.float32) / np.float32(np.sqrt(d)) for _ in range(3))
    wide = {name: x.astype(np.float64) for name, x in {"q": q, "k": k, "v": v, "w": w, "a": a, "b": b}.items()}
    want = {
        "dot": wide["q"] @ wide["k"].T,
        "scaled": wide["q"] @ wide["k"].T / np.sqrt(d),
        "general": wide["q"] @ wide["w"] @ wide["k"].T,
        "additive": np.tanh((wide["q"] @ wide["a"])[:, None] + (wide["k"] @ wide["b"])[None]) @ wide["v"],
    }
    return {"q": q, "k": k, "v": v, "w": w, "a": a, "b": b, **want}


def check_all(pieces: Pieces, rng: np.random.Generator) -> None:
    for queries, keys, d in SHAPES:
        r = reference(rng, queries, keys, d)
        got = {
            "dot": pieces.dot(r["q"], r["k"]),
            "scaled": pieces.dot(r["q"], r["k"], 1 / np.sqrt(d)),
            "general": pieces.dot(pieces.project(r["q"], r["w"]), r["k"]),
            "additive": pieces.additive(pieces.project(r["q"], r["a"]), pieces.project(r["k"], r["b"]), r["v"]),
        }
        worst = max(wb.check(got[name], r[name], 2e-6 * d, name) for name in got)  # each adds d numbers of size 1
        print(f"{queries} queries, {keys} keys, d = {d}: 4 scoring functions within {worst:.0%} of the bound")


class Large:
    """The same work for both families: n queries, n keys, d numbers each."""

    def __init__(self, pieces: Pieces, rng: np.random.Generator, n: int, d: int) -> None:
        self.n, self.d, self.scores = n, d, pieces.scores
        self.q, self.k = (rng.standard_normal((n, d), dtype=np.float32) for _ in range(2))
        self.v = rng.standard_normal(d, dtype=np.float32)
        self.on_device = [cuda.to_device(x) for x in (self.q, self.k, self.v)]
        self.out = cuda.mem_alloc(4 * n * n)
        self.rows = rng.integers(0, n, 8)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, self.n * self.n)

    def launch(self, name: str) -> None:
        q, k, v = self.on_device
        sizes = np.int32(self.n), np.int32(self.n), np.int32(self.d)
        if name == "dot":
            self.scores.get_function("score_dot")(q, k, self.out, *sizes, np.float32(1), **blocks(self.n, self.n))
        else:
            self.scores.get_function("score_additive")(q, k, v, self.out, *sizes, **blocks(self.n, self.n))

    def check(self, name: str) -> None:
        """Some rows: q and k stand for the projected queries and keys."""
        got, k = np.empty((self.n, self.n), np.float32), self.k.astype(np.float64)
        cuda.memcpy_dtoh(got, self.out)
        some = self.q[self.rows].astype(np.float64)
        want = some @ k.T if name == "dot" else np.tanh(some[:, None] + k[None]) @ self.v.astype(np.float64)
        wb.check(got[self.rows], want, 1e-4, name)
        if not np.isfinite(got).all():
            raise AssertionError(f"{name}: some scores were not written")


def time_all(pieces: Pieces, rng: np.random.Generator) -> None:
    large = Large(pieces, rng, 4096, 64)
    for name in ("dot", "additive"):
        t = wb.time(
            lambda i, name=name: large.launch(name),
            poison=large.poison,
            check=lambda i, name=name: large.check(name),
        )
        wb.timing(f"score_{name}", t)
        print(f"score_{name}: {t.median * 1e6:.0f} µs for 4096 × 4096 scores of 64 numbers")


if __name__ == "__main__":
    generator, pieces = np.random.default_rng(), Pieces()
    if "--profile" in sys.argv[1:]:
        large = Large(pieces, generator, 4096 if wb.is_gpu() else 64, 64)
        for name in ("dot", "additive"):
            large.poison()
            large.launch(name)
            large.check(name)
            print(f"score_{name} of {large.n} × {large.n}: within the bound")
    else:
        print(f"device: {wb.device()['name']}")
        check_all(pieces, generator)
        if wb.is_gpu():
            time_all(pieces, generator)
        else:
            print("no GPU: nothing is timed")
