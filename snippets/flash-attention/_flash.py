"""What the flash programs share: inputs, attention in float64, what rounding allows, and the kernels."""

import functools
from dataclasses import dataclass

import numpy as np
import pycuda.driver as cuda
import warpbench as wb

LOG2E = 1.4426950408889634


@dataclass(frozen=True)
class Shape:
    """So many heads (all batches' together) of n rows with d elements; query i sees keys 0 … i only if it is causal."""

    heads: int
    n: int
    d: int
    causal: bool = False

    @property
    def scale(self) -> float:
        return self.d**-0.5

    @property
    def flop(self) -> int:
        """Of the two products; what a causal shape hides is not counted."""
        return 4 * self.heads * self.d * (self.n * (self.n + 1) // 2 if self.causal else self.n**2)

    def __str__(self) -> str:
        return f"{self.heads} heads, n = {self.n}, d = {self.d}{', causal' if self.causal else ''}"


def fresh(rng: np.random.Generator, shape: Shape, dtype: type, count: int = 3) -> list[np.ndarray]:
    return [rng.standard_normal((shape.heads, shape.n, shape.d), dtype=np.float32).astype(dtype) for _ in range(count)]


# --8<-- [start:reference]
@dataclass(frozen=True)
class Answer:
    """Some rows of attention in float64: the values, the log-sums, and how far a computed value may be from them."""

    out: np.ndarray
    lse: np.ndarray
    bound: np.ndarray


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, rows: np.ndarray, shape: Shape, half: bool) -> Answer:
    """Rows `rows` of one head, in float64. `half`: the weights, and the result, are rounded to fp16 on the way."""
    q, k, v = q[rows].astype(np.float64), k.astype(np.float64), v.astype(np.float64)
    scores = q @ k.T * shape.scale
    if shape.causal:
        scores[np.arange(shape.n) > rows[:, None]] = -np.inf
    top = scores.max(1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(1, keepdims=True)
    out, size = weights @ v / total, weights @ np.abs(v) / total
    # a score is off by its sums' rounding, and a weight by that share of itself, once above and once below the line
    share = 2 * (shape.d + 4) * 2.0**-23 * (np.abs(q) @ np.abs(k).T).max(1, keepdims=True) * shape.scale + 2.0**-20
    bound = share * size + shape.n * 2.0**-23 * size
    if half:  # half a unit in the last place: of each weight, then of the result; and what is below fp16's smallest
        bound += 2.0**-11 * (size + np.abs(out)) + 2.0**-25 * np.abs(v).sum(0)
    else:
        bound = np.minimum(bound, 1e-4)
    return Answer(out, (top + np.log(total))[:, 0], bound)


# --8<-- [end:reference]


def sample(rng: np.random.Generator, n: int, count: int) -> np.ndarray:
    """The first and the last row and others between them; all, if there are no more than `count`."""
    return np.arange(n) if n <= count else np.unique([0, n - 1, *rng.integers(0, n, count - 2)])


def judge(
    inputs: list[np.ndarray], out: np.ndarray, lse: np.ndarray | None, shape: Shape, what: str, rng: np.random.Generator
) -> float:
    """Hold a result against float64: all of a small one, some heads and rows of a large one. Returns error / bound."""
    if not np.isfinite(out).all():
        raise AssertionError(f"{what}, {shape}: not all of the result is finite")
    worst, half = 0.0, out.dtype == np.float16
    small = shape.n <= 512
    for head in range(shape.heads) if small else sample(rng, shape.heads, 3):
        rows = sample(rng, shape.n, 512 if small else 24)
        answer = attend(*(x[head] for x in inputs), rows, shape, half)
        worst = max(worst, wb.check(out[head, rows].astype(np.float64), answer.out, answer.bound, f"{what}, {shape}"))
        if lse is not None:
            wb.check(lse[head, rows].astype(np.float64), answer.lse, 1e-4, f"log-sums of {what}, {shape}")
    return worst


# --- Kernels ---------------------------------------------------------------------------------------------------------


@functools.cache
def module(path: str, after: str = "", **macros: object) -> object:
    """snippets/flash-attention/`path`, and `after` behind it, compiled once."""
    append = wb.source(f"flash-attention/{after}") if after else ""
    return wb.module(f"flash-attention/{path}", append=append, **macros)


class Kernel:
    """A kernel with its launch: what a block covers, how many threads it has, how much shared memory it asks for."""

    def __init__(self, code: object, name: str, block: tuple[int, int, int], shared: int = 0) -> None:
        self.code, self.function, self.block, self.shared = code, code.get_function(name), block, shared
        if shared > 48 * 1024:
            self.function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)

    def __call__(self, grid: tuple[int, ...], *arguments: object) -> None:
        self.function(*arguments, block=self.block, grid=grid, shared=self.shared)


class Naive:
    name, dtype = "naive", np.float32

    def __init__(self, d: int) -> None:
        code = module("naive.cu", HEAD=d)
        self.d = d
        self.scores, self.values = (Kernel(code, f"naive_{what}", (32, 32, 1)) for what in ("scores", "values"))
        self.softmax = Kernel(code, "naive_softmax", (256, 1, 1))

    def workspace(self, shape: Shape) -> int:
        return 4 * shape.heads * shape.n**2

    # --8<-- [start:naive]
    def __call__(self, q: object, k: object, v: object, out: object, scratch: object, shape: Shape) -> None:
        n, tiles = np.int32(shape.n), -(-shape.n // 32)
        self.scores((tiles, tiles, shape.heads), q, k, scratch, n, np.float32(shape.scale), np.int32(shape.causal))
        self.softmax((shape.heads * shape.n, 1), scratch, n)
        self.values((self.d // 32, tiles, shape.heads), scratch, v, out, n)

    # --8<-- [end:naive]


class Tiled:
    name, dtype = "tiled", np.float32

    def __init__(self, d: int) -> None:
        floats = 64 * (d + 16) + 64 * max(d + 4, 64 + 16) + 64 * d  # as in tiled.cu
        self.kernel = Kernel(module("tile.cu", "tiled.cu", HEAD=d), "attention_tiled", (128, 1, 1), 4 * floats)

    def workspace(self, shape: Shape) -> int:
        return 4 * shape.heads * shape.n

    def __call__(self, q: object, k: object, v: object, out: object, lse: object, shape: Shape) -> None:
        grid = -(-shape.n // 64), shape.heads
        self.kernel(grid, q, k, v, out, lse, np.int32(shape.n), np.float32(shape.scale), np.int32(shape.causal))


# --8<-- [start:settings]
ALWAYS = {"SWIZZLE": 1, "LAZY": 1}
BEST = {  # of mma.cu, by head size
    64: {
        "WARPS": 4,
        "TILES": 2,
        "KEYS": 128,
        "STAGES": 2,
        "BLOCKS": 2,
        "HOLD_Q": 0,
        "SWIZZLE": 1,
        "LAZY": 1,
        "MAX3": 1,
    },
    128: {
        "WARPS": 4,
        "TILES": 2,
        "KEYS": 64,
        "STAGES": 2,
        "BLOCKS": 2,
        "HOLD_Q": 0,
        "SWIZZLE": 1,
        "LAZY": 1,
        "MAX3": 0,
    },
}
# --8<-- [end:settings]


class Mma:
    """mma.cu; `settings` and `name` make a variant of it."""

    dtype = np.float16

    def __init__(self, d: int, name: str = "mma", **settings: int) -> None:
        use = BEST[d] | settings
        code = module("fragments.cu", "mma.cu", HEAD=d, NAME=f"attention_{name}", **use)
        self.name, self.rows = name, 16 * use["TILES"] * use["WARPS"]
        queries, ring = 2 * d * self.rows, 2 * d * 2 * use["KEYS"] * use["STAGES"]
        shared = max(queries, ring) if use["HOLD_Q"] else queries + ring
        self.kernel = Kernel(code, f"attention_{name}", (32 * use["WARPS"], 1, 1), shared)

    def workspace(self, shape: Shape) -> int:
        return 4 * shape.heads * shape.n

    def __call__(self, q: object, k: object, v: object, out: object, lse: object, shape: Shape) -> None:
        grid = -(-shape.n // self.rows), shape.heads
        scale = np.float32(shape.scale * LOG2E)  # 2^(x log2 e) = e^x
        self.kernel(grid, q, k, v, out, lse, np.int32(shape.n), scale, np.int32(shape.causal))


# --- Arrays on the device --------------------------------------------------------------------------------------------


class Array:
    """Device memory that PyCUDA's kernels and torch both take."""

    def __init__(self, shape: tuple[int, ...], dtype: type, values: np.ndarray | None = None) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.nbytes = int(np.prod(shape)) * self.dtype.itemsize
        self.gpudata = cuda.mem_alloc(self.nbytes)
        self.poison()
        if values is not None:
            cuda.memcpy_htod(self.gpudata, np.ascontiguousarray(values, dtype))

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return {"version": 3, "shape": self.shape, "typestr": self.dtype.str, "data": (int(self.gpudata), False)}

    def poison(self) -> None:
        """All bits one: NaN in every format."""
        cuda.memset_d8_async(self.gpudata, 0xFF, self.nbytes)

    def get(self) -> np.ndarray:
        out = np.empty(self.shape, self.dtype)
        cuda.memcpy_dtoh(out, self.gpudata)
        return out

    def free(self) -> None:
        self.gpudata.free()


class Forward:
    """Inputs on the device for one shape, an output, and what a rung needs besides."""

    def __init__(
        self, rung: object, shape: Shape, rng: np.random.Generator, inputs: list[np.ndarray] | None = None
    ) -> None:
        self.rung, self.shape, self.rng = rung, shape, rng
        full = (shape.heads, shape.n, shape.d)
        self.inputs = [x.reshape(full) for x in inputs or fresh(rng, shape, rung.dtype)]
        self.q, self.k, self.v = (Array(full, rung.dtype, x) for x in self.inputs)
        self.out = Array(full, rung.dtype)
        self.scratch = Array((rung.workspace(shape) // 4,), np.float32)

    def launch(self, _: int = 0) -> None:
        self.rung(self.q, self.k, self.v, self.out, self.scratch, self.shape)

    def poison(self, _: int = 0) -> None:
        self.out.poison()
        self.scratch.poison()

    def check(self, _: int = 0) -> float:
        """The worst error as a share of its bound."""
        lse = None if self.rung.name == "naive" else self.scratch.get().reshape(self.shape.heads, self.shape.n)
        return judge(self.inputs, self.out.get(), lse, self.shape, self.rung.name, self.rng)

    def run(self) -> float:
        self.poison()
        self.launch()
        return self.check()

    def free(self) -> None:
        for array in (self.q, self.k, self.v, self.out, self.scratch):
            array.free()
