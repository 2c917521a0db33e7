"""Attention over a cache: random keys and values, float64's answer, and the kernels of decode.cu."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pycuda.driver as cuda
import warpbench as wb

LOG2E = 1.4426950408889634
THREADS, AHEAD = 128, 4  # as in decode.cu
RUNGS = ("v0", "v1", "v2", "v3", "v4")
built: dict[tuple[int, int, int], Any] = {}


@dataclass(frozen=True)
class Shape:
    """A token per sequence is decoded: `heads` queries each, over `kv_heads` heads of keys and values of d elements."""

    heads: int
    kv_heads: int
    d: int
    page: int = 16

    @property
    def queries(self) -> int:
        """Query heads that share a head of keys and values."""
        return self.heads // self.kv_heads

    # --8<-- [start:bytes]
    @property
    def token_bytes(self) -> int:
        """What one token adds to the cache of one layer: a key and a value per head, in fp16."""
        return 2 * self.kv_heads * self.d * 2

    # --8<-- [end:bytes]


def compile_for(shape: Shape) -> Any:
    key = shape.d, shape.queries, shape.page
    if key not in built:
        built[key] = wb.module("llm-inference/decode.cu", HEAD=key[0], QUERIES=key[1], PAGE=key[2])
    return built[key]


class Ready:
    """A launch whose arguments are already in the form that takes the host least time."""

    def __init__(self, kernel: Any, grid: tuple[int, ...], block: tuple[int, int, int], *arguments: Any,
                 shared: int = 0) -> None:  # fmt: skip
        kinds: list[Any] = []
        self.values: list[Any] = []
        for one in arguments:
            if isinstance(one, np.void):
                kinds.append(one.dtype)
                self.values.append(one.tobytes())
            else:
                whole = isinstance(one, np.int32 | np.float32)
                kinds.append(one.dtype.char if whole else "P")
                self.values.append(one if whole else int(one))
        self.kernel, self.grid, self.block, self.shared = kernel.prepare(kinds), grid, block, shared

    def __call__(self) -> None:
        self.kernel.prepared_call(self.grid, self.block, *self.values, shared_size=self.shared)


# --8<-- [start:reference]
def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One query (d,) over keys and values (n, d) in float64, and how far roundings may move a result in fp16."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    n, d = k.shape
    scores = k @ q * d**-0.5
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    out, size = weights @ v, weights @ np.abs(v)
    # A score of d products is off by d + 4 roundings of its terms, which changes its weight by that share, above and
    # below the line; a sum of n terms adds n roundings; then the result is rounded to fp16.
    share = 2 * (d + 4) * 2.0**-24 * float((np.abs(k) @ np.abs(q)).max()) * d**-0.5 + (n + 40) * 2.0**-23
    return out, share * size + 2.0**-11 * np.abs(out) + 2.0**-25


# --8<-- [end:reference]


class Cached:
    """Sequences of these lengths with random keys and values on the device, contiguous and in shuffled pages."""

    def __init__(self, rng: np.random.Generator, shape: Shape, lengths: list[int], most: int, copies: int = 1,
                 spiked: bool = False) -> None:  # fmt: skip
        self.rng, self.shape, self.most, self.copies = rng, shape, most, copies
        self.lengths = np.array(lengths, np.int32)
        self.rows = len(lengths)
        full = self.rows, shape.kv_heads, most, shape.d
        self.q = rng.standard_normal((self.rows, shape.heads, shape.d), dtype=np.float32).astype(np.float16)
        k, v = (rng.standard_normal(full, dtype=np.float32).astype(np.float16) for _ in range(2))
        if spiked:  # scores that rise along the sequence: the maximum moves in every part
            k *= (np.arange(most) / most * 8).astype(np.float16)[:, None]
        for row, n in enumerate(lengths):  # what is beyond a sequence must not count
            k[row, :, n:], v[row, :, n:] = np.nan, np.nan
        self.k, self.v = k, v
        self.at: dict[str, Any] = {"q": cuda.to_device(self.q), "length": cuda.to_device(self.lengths)}
        self.at["sequence"] = cuda.to_device(np.arange(self.rows, dtype=np.int32))
        self.at["out"] = cuda.mem_alloc(self.q.nbytes)
        self.at["keys"] = [cuda.to_device(k) for _ in range(copies)]
        self.at["values"] = [cuda.to_device(v) for _ in range(copies)]
        if shape.page:
            self.paginate()
        self.set_parts(1)

    # --8<-- [start:pages]
    def paginate(self) -> None:
        """The same keys and values in pages of one pool, in random order; `table` says which page is where."""
        page, shape = self.shape.page, self.shape
        self.pages = -(-self.most // page)  # entries of a sequence in the table
        order = self.rng.permutation(self.rows * self.pages).astype(np.int32)
        pools = []
        for x in (self.k, self.v):
            wide = np.full((self.rows, shape.kv_heads, self.pages * page, shape.d), np.nan, np.float16)
            wide[:, :, : self.most] = x
            pool = np.empty((self.rows * self.pages, shape.kv_heads, page, shape.d), np.float16)
            cut = wide.reshape(self.rows, shape.kv_heads, self.pages, page, shape.d)
            pool[order] = cut.swapaxes(1, 2).reshape(pool.shape)
            pools.append(pool)
        self.table = order.reshape(self.rows, self.pages)
        for name, pool in zip(("key_pages", "value_pages"), pools, strict=True):
            self.at[name] = [cuda.to_device(pool) for _ in range(self.copies)]
        self.at["table"] = cuda.to_device(self.table)

    # --8<-- [end:pages]

    @property
    def nbytes(self) -> int:
        """What has to be read: every key and value once."""
        return int(self.lengths.sum()) * self.shape.token_bytes

    def set_parts(self, parts: int) -> None:
        """Divide the longest sequence into so many parts, in whole turns of a block."""
        self.ready: dict[tuple[str, int], list[Ready]] = {}
        step = AHEAD * THREADS * 8 // self.shape.d
        self.chunk = -(-int(self.lengths.max()) // (parts * step)) * step
        self.parts = -(-int(self.lengths.max()) // self.chunk)
        count = self.rows * self.shape.heads * self.parts
        self.at["o"], self.at["stats"] = cuda.mem_alloc(4 * count * self.shape.d), cuda.mem_alloc(8 * count)
        self.scratch = count

    def poison(self, _: int = 0) -> None:
        cuda.memset_d16_async(self.at["out"], 0xFFFF, self.q.size)
        cuda.memset_d32_async(self.at["o"], 0xFFFFFFFF, self.scratch * self.shape.d)
        cuda.memset_d32_async(self.at["stats"], 0xFFFFFFFF, 2 * self.scratch)

    # --8<-- [start:launch]
    def launches(self, rung: str, i: int) -> list[Ready]:
        """One rung on copy i of the cache; v2 to v4 with their merge."""
        a, shape = self.at, self.shape
        code = compile_for(shape)
        sizes = np.int32(shape.heads), np.int32(self.pages if rung == "v4" else self.most)
        scale, chunk = np.float32(LOG2E * shape.d**-0.5), np.int32(self.chunk)
        rows, block = (a["sequence"], a["length"]), (THREADS, 1, 1)
        kernel = code.get_function(f"decode_{rung}")
        if rung in ("v0", "v1"):
            shared = 4 * int(self.lengths.max()) if rung == "v0" else 0
            if shared > 40 * 1024:
                kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
            arguments = a["q"], a["keys"][i], a["values"][i], *rows, a["out"], *sizes, scale
            return [Ready(kernel, (shape.heads, self.rows), block, *arguments, shared=shared)]
        paged = [a["key_pages"], a["value_pages"]] if rung == "v4" else [a["keys"], a["values"]]
        arrays = [pool[i] for pool in paged] + ([a["table"]] if rung == "v4" else [])
        grid = (shape.heads if rung == "v2" else shape.kv_heads, self.rows, self.parts)
        parts = Ready(kernel, grid, block, a["q"], *arrays, *rows, a["o"], a["stats"], *sizes, chunk, scale)
        merging = a["o"], a["stats"], a["length"], a["out"], np.int32(self.parts), chunk
        merge = code.get_function("decode_merge")
        return [parts, Ready(merge, (shape.heads, self.rows), (shape.d, 1, 1), *merging)]

    def launch(self, rung: str, i: int = 0) -> None:
        """The copies of the cache take turns."""
        key = rung, i % self.copies
        if key not in self.ready:
            self.ready[key] = self.launches(*key)
        for one in self.ready[key]:
            one()

    # --8<-- [end:launch]

    def result(self) -> np.ndarray:
        out = np.empty_like(self.q)
        cuda.memcpy_dtoh(out, self.at["out"])
        return out

    def check(self, what: str, out: np.ndarray | None = None, slack: float = 0.0) -> float:
        """The worst error as a share of its bound; of many heads, some. `slack`: of a rival that rounds weights."""
        got = self.result() if out is None else out
        pairs = [(row, head) for row in range(self.rows) for head in range(self.shape.heads)]
        if len(pairs) > 40:
            pairs = [pairs[i] for i in (0, len(pairs) - 1, *self.rng.integers(0, len(pairs), 14))]
        worst = 0.0
        for row, head in pairs:
            n, kv = self.lengths[row], head // self.shape.queries
            want, bound = attend(self.q[row, head], self.k[row, kv, :n], self.v[row, kv, :n])
            worst = max(worst, wb.check(got[row, head].astype(np.float64), want, bound + slack, f"{what}, row {row}"))
        return worst


# --8<-- [start:sectors]
def sectors(shape: Shape, rung: str, n: int, chunk: int) -> int:
    """Sectors of 32 bytes that one sequence of n keys makes a launch load, counted by hand; n a multiple of chunk,
    chunk of a block's turn."""
    row = shape.d // 16  # of a key, and of a value
    warps, turn = THREADS // 32, AHEAD * THREADS * 8 // shape.d
    per_warp = 32 * 8 // shape.d  # keys per load of a warp
    if rung == "v0":  # 16 bytes of a key are half a sector, so each is asked for twice; the query by all, key by key
        loads = n // 32  # of each piece of 8 elements, by all warps
        values = n * row if shape.d >= 32 else 0
        return shape.heads * (2 * n * row + loads * shape.d // 8 + values + 2 * warps)
    heads, parts = (shape.kv_heads, n // chunk) if rung in ("v3", "v4") else (shape.heads, n // chunk)
    if rung == "v1":
        parts = 1
    queries = shape.queries if rung in ("v3", "v4") else 1
    found = heads * (2 * n * row + parts * warps * (2 + queries * row))  # sequence and length, then the queries
    if rung == "v4":  # a lane asks for the page of each key; neighbouring keys are in the same page
        found += heads * (n // turn) * AHEAD * warps * max(1, per_warp // shape.page)
    return found


# --8<-- [end:sectors]
