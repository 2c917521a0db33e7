"""Kernels whose counters were read on a GPU: what the inspector counts must equal what the hardware counted.

    python kernels.py [name ...]     launches each kernel once, in order, and checks its result against NumPy

Every kernel is one launch, so that the n-th launch of this program is the n-th kernel of `KERNELS`: that is how
`read.py` matches Nsight Compute's answers, and the test those of `softcuda profile`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

THREADS = 256
GRID = 32
N = THREADS * GRID
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Kernel:
    """`source` defines `void name(...)`; `inputs` are its arguments in order, of which `out` is what it writes.

    `expect` computes `out` from the inputs; a scalar argument is an int.
    """

    name: str
    source: str
    inputs: dict[str, np.ndarray | int]
    expect: Callable[..., np.ndarray]
    grid: tuple[int, ...] = (GRID, 1, 1)
    block: tuple[int, ...] = (THREADS, 1, 1)
    about: str = ""
    tolerance: float = 0.0


PRELUDE = """#include <cuda_pipeline.h>
struct Point3 { float x, y, z; };
struct Point4 { float x, y, z, w; };
struct Point5 { float x, y, z, w, v; };
"""
KERNELS: list[Kernel] = []
random = np.random.default_rng(20)
FLOATS = random.random(4 * N, dtype=np.float32) + 1


def add(name: str, parameters: str, body: str, inputs: dict, expect: Callable, **more: object) -> None:
    """In `body`, i is the thread in the grid (after INDEX), T the one in the block, n the number of threads."""
    body = re.sub(r"\bT\b", "(int)threadIdx.x", body)
    body = re.sub(r"\bn\b", "(int)(gridDim.x * blockDim.x)", body)
    source = f'extern "C" __global__ void {name}({parameters})\n{{\n{body}\n}}\n'
    KERNELS.append(Kernel(name, source, inputs, expect, **more))  # type: ignore[arg-type]


def evaluate(expression: str, i: np.ndarray) -> np.ndarray:
    """The C expression of `i` (and T, the thread) in NumPy."""
    return np.asarray(eval(expression.replace("/", "//"), {"i": i, "T": i % THREADS, "n": N})) + 0 * i


# --- global loads and stores: which sectors ---------------------------------------------------------------------------

TYPES = {"float": np.float32, "double": np.float64, "unsigned char": np.uint8, "short": np.int16, "long long": np.int64}
INDEX = "    int i = blockIdx.x * blockDim.x + threadIdx.x;"


def values(kind: str, count: int) -> np.ndarray:
    dtype = TYPES[kind]
    return (
        np.resize(FLOATS, count).astype(dtype)
        if dtype in (np.float32, np.float64)
        else random.integers(1, 100, count, dtype)
    )


def load(name: str, index: str, kind: str = "float", qualifier: str = "a[{}]", **more: object) -> None:
    place = evaluate(index, np.arange(N))
    a = values(kind, int(place.max()) + 1)
    body = f"{INDEX}\n    out[i] = {qualifier.format(index)};"
    add(
        f"load_{name}",
        f"const {kind}* a, {kind}* out",
        body,
        {"a": a, "out": np.zeros(N, a.dtype)},
        lambda a, out: a[place],
        **more,
    )


def store(name: str, index: str, kind: str = "float", *, rounds: int = 1, **more: object) -> None:
    place = evaluate(index, np.arange(N))
    a = values(kind, N)
    size = int(place.max()) + 1

    def expect(a: np.ndarray, out: np.ndarray) -> np.ndarray:
        result = np.zeros(size, a.dtype)
        result[place] = a
        return result

    add(
        f"store_{name}",
        f"const {kind}* a, {kind}* out",
        f"{INDEX}\n    out[{index}] = a[i];",
        {"a": a, "out": np.zeros(size, a.dtype)},
        expect,
        **more,
    )


load("unit", "i")
for s in (2, 3, 4, 8, 16, 33):
    load(f"stride_{s}", f"i * {s}")
for offset in (1, 8, 17):
    load(f"offset_{offset}", f"i + {offset}")
load("reversed", "n - 1 - i")
load("neighbours_swapped", "i ^ 1")
load("halves_swapped", "i ^ 16")
load("one_word_a_warp", "i / 32")
load("one_word_a_sector", "i / 8 * 8")
load("two_words_a_warp", "(i & 1) * 4096 + i / 32")
load("column", "i % 64 * 128 + i / 64")
load("double_unit", "i", "double")
load("double_stride_2", "i * 2", "double")
load("double_offset_3", "i + 3", "double")
load("bytes", "i", "unsigned char")
load("bytes_stride_5", "i * 5", "unsigned char")
load("shorts", "i", "short")
load("shorts_offset_7", "i + 7", "short")
load("long_long_xor", "i ^ 5", "long long")
load("ldg", "i * 2", qualifier="__ldg(a + {})")
load("ldcg", "i * 2", qualifier="__ldcg(a + {})")
load("ldcs", "i + 1", qualifier="__ldcs(a + {})")
load("volatile", "i * 2", qualifier="((const volatile float*)a)[{}]")

store("stride_2", "i * 2")
store("stride_8", "i * 8")
store("stride_32", "i * 32")
store("offset_5", "i + 5")
store("double_stride_3", "i * 3", "double")
store("bytes", "i", "unsigned char")
store("bytes_reversed", "n - 1 - i", "unsigned char")
store("shuffled", "i / 32 * 32 + i * 13 % 32")

indices = random.permutation(N).astype(np.int32)
near = (np.arange(N) // 32 * 32 + random.integers(0, 32, N)).astype(np.int32)
for which, table in (("far", indices), ("near", near)):
    add(
        f"gather_{which}",
        "const float* a, const int* index, float* out",
        f"{INDEX}\n    out[i] = a[index[i]];",
        {"a": FLOATS[:N], "index": table, "out": np.zeros(N, np.float32)},
        lambda a, index, out: a[index],
    )
add(
    "scatter_far",
    "const float* a, const int* index, float* out",
    f"{INDEX}\n    out[index[i]] = a[i];",
    {"a": FLOATS[:N], "index": indices, "out": np.zeros(N, np.float32)},
    lambda a, index, out: a[np.argsort(index)],
)

load("double_quarter_again", "i / 32 * 32 + i % 8", "double")
load("double_scrambled", "i / 256 * 256 + T * T % 251", "double")
for width in (2, 4):
    add(
        f"vector_{width}_scrambled",
        f"const float{width}* a, float{width}* out",
        f"{INDEX}\n    out[i] = a[T * T % 251];",
        {"a": FLOATS[: 256 * width], "out": np.zeros(N * width, np.float32)},
        lambda a, out, width=width: a.reshape(-1, width)[np.arange(N) % 256 * (np.arange(N) % 256) % 251].ravel(),
    )
    for step in (1, 3):
        add(
            f"vector_{width}_stride_{step}",
            f"const float{width}* a, float{width}* out",
            f"{INDEX}\n    out[i] = a[i * {step}];",
            {
                "a": FLOATS[: N * width * step] if step == 1 else np.resize(FLOATS, N * width * step),
                "out": np.zeros(N * width, np.float32),
            },
            lambda a, out, width=width, step=step: a.reshape(-1, width)[::step].ravel(),
        )
add(
    "vector_double2",
    "const double2* a, double2* out",
    f"{INDEX}\n    out[i] = a[i];",
    {"a": FLOATS[: 2 * N].astype(np.float64), "out": np.zeros(2 * N)},
    lambda a, out: a,
)
add(
    "vector_char4",
    "const char4* a, char4* out",
    f"{INDEX}\n    out[i] = a[i ^ 3];",
    {"a": random.integers(-99, 99, 4 * N, np.int8), "out": np.zeros(4 * N, np.int8)},
    lambda a, out: a.reshape(-1, 4)[np.arange(N) ^ 3].ravel(),
)

for fields in (("x", "y", "z"), ("x", "y", "z", "w"), ("x", "y", "z", "w", "v")):
    k = len(fields)
    add(
        f"structures_{4 * k}_bytes",
        f"const Point{k}* a, float* out",
        f"{INDEX}\n    out[i] = {' + '.join(f'a[i].{f}' for f in fields)};",
        {"a": np.resize(FLOATS, N * k), "out": np.zeros(N, np.float32)},
        lambda a, out, k=k: a.reshape(-1, k).sum(1, dtype=np.float64),
        tolerance=1e-5,
    )
    add(
        f"one_field_of_{4 * k}_bytes",
        f"const Point{k}* a, float* out",
        f"{INDEX}\n    out[i] = a[i].y;",
        {"a": np.resize(FLOATS, N * k), "out": np.zeros(N, np.float32)},
        lambda a, out, k=k: a.reshape(-1, k)[:, 1],
    )
add(
    "arrays_of_fields",
    "const float* a, float* out",
    f"{INDEX}\n    out[i] = a[i] + a[n + i] + a[2 * n + i];",
    {"a": FLOATS[: 3 * N], "out": np.zeros(N, np.float32)},
    lambda a, out: a.reshape(3, -1).sum(0, dtype=np.float64),
    tolerance=1e-5,
)

# --- partial warps and divergence -------------------------------------------------------------------------------------

add(
    "partial_warp",
    "const float* a, float* out",
    f"{INDEX}\n    out[i] = a[i];",
    {"a": FLOATS[: 32 * 48], "out": np.zeros(32 * 48, np.float32)},
    lambda a, out: a,
    block=(48, 1, 1),
)
add(
    "tail",
    "const float* a, float* out, int m",
    f"{INDEX}\n    if (i < m) out[i] = a[i];",
    {"a": FLOATS[:N], "out": np.zeros(N, np.float32), "m": N - 77},
    lambda a, out, m: np.where(np.arange(N) < m, a, 0),
)
add(
    "odd_lanes",
    "const float* a, float* out",
    f"{INDEX}\n    if (i & 1) out[i] = a[i * 2];",
    {"a": FLOATS[: 2 * N], "out": np.zeros(N, np.float32)},
    lambda a, out: np.where(np.arange(N) & 1, a[::2], 0),
)
add(
    "eight_lanes",
    "const float* a, float* out",
    f"{INDEX}\n    if (i % 32 < 8) out[i] = a[i];",
    {"a": FLOATS[:N], "out": np.zeros(N, np.float32)},
    lambda a, out: np.where(np.arange(N) % 32 < 8, a, 0),
)
add(
    "two_ways",
    "const float* a, const float* b, float* out",
    f"{INDEX}\n    if (i % 3 == 0) out[i] = a[i * 2]; else out[2 * n - 1 - i] = b[i];",
    {"a": FLOATS[: 2 * N], "b": FLOATS[N : 2 * N], "out": np.zeros(2 * N, np.float32)},
    lambda a, b, out: two_ways(a, b),
)
add(
    "uneven_loop",
    "const float* a, float* out",
    f"{INDEX}\n    float sum = 0;\n    for (int k = 0; k < i % 32; ++k) sum += a[k * n + i];\n    out[i] = sum;",
    {"a": np.resize(FLOATS, 32 * N), "out": np.zeros(N, np.float32)},
    lambda a, out: np.where(np.arange(32)[:, None] < np.arange(N) % 32, a.reshape(32, N), 0).sum(0, dtype=np.float64),
    tolerance=1e-5,
)
add(
    "early_exit",
    "const float* a, float* out",
    f"{INDEX}\n    if (a[i] < 1.5f) return;\n    out[i] = a[i + 8 * n / 4];",
    {"a": FLOATS, "out": np.zeros(N, np.float32)},
    lambda a, out: np.where(a[:N] < 1.5, 0, a[2 * N : 3 * N]),
)
add(
    "sixteen_ways",
    "const float* a, float* out",
    f"{INDEX}\n    float x = a[i];\n    switch (i % 32 / 2) {{\n"
    + "".join(f"    case {k}: x = a[(i + {17 * k + 3}) % n] * {k}.5f; break;\n" for k in range(16))
    + "    }\n    out[i] = x;",
    {"a": FLOATS[:N], "out": np.zeros(N, np.float32)},
    lambda a, out: (
        a[(np.arange(N) + 17 * (np.arange(N) % 32 // 2) + 3) % N] * (np.arange(N) % 32 // 2 + np.float32(0.5))
    ),
    tolerance=1e-6,
)


def two_ways(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    i = np.arange(N)
    out = np.zeros(2 * N, np.float32)
    out[(2 * N - 1 - i)[i % 3 != 0]] = b[i % 3 != 0]
    out[i[i % 3 == 0]] = a[::2][i % 3 == 0]
    return out


# --- shared memory: which banks ---------------------------------------------------------------------------------------


def shared_load(name: str, index: str, kind: str = "float", width: int = 1) -> None:
    """Fill shared memory in order, read it as `index` of T says."""
    place = evaluate(index, np.arange(THREADS))
    size = -(-(int(place.max()) + 1) // THREADS) * THREADS
    element = f"{kind}{width}" if width > 1 else kind
    a = np.resize(values(kind, N), size * width)
    body = (
        f"    __shared__ {element} s[{size}];\n{INDEX}\n"
        f"    for (int k = T; k < {size}; k += {THREADS}) s[k] = a[k];\n    __syncthreads();\n    out[i] = s[{index}];"
    )
    add(
        f"shared_load_{name}",
        f"const {element}* a, {element}* out",
        body,
        {"a": a, "out": np.zeros(N * width, a.dtype)},
        lambda a, out: np.tile(a.reshape(size, width)[place].ravel(), GRID),
    )


def shared_store(name: str, index: str, kind: str = "float", width: int = 1) -> None:
    """Write shared memory as `index` of T says, read it in order."""
    place = evaluate(index, np.arange(THREADS))
    size = int(place.max()) + 1
    element = f"{kind}{width}" if width > 1 else kind
    a = np.resize(values(kind, N), N * width)

    def expect(a: np.ndarray, out: np.ndarray) -> np.ndarray:
        return np.repeat(a.reshape(GRID, THREADS, width)[:, :, :1], 1, axis=2).ravel()

    first = "s[{0}]" if width == 1 else "s[{0}].x"
    body = (
        f"    __shared__ {element} s[{size}];\n{INDEX}\n    s[{index}] = a[i];\n    __syncthreads();\n"
        f"    out[i] = {first.format(index)};"
    )
    add(f"shared_store_{name}", f"const {element}* a, {kind}* out", body, {"a": a, "out": np.zeros(N, a.dtype)}, expect)


for s in (1, 2, 3, 4, 8, 16, 32, 33):
    shared_load(f"stride_{s}", f"T * {s}")
shared_load("one_word", "T / 32")
shared_load("two_words_of_a_bank", "T % 2 * 32 + T / 32")
shared_load("xor", "T ^ 21")
shared_load("scrambled", "T * T % 251")
for s in (1, 2, 3, 16):
    shared_load(f"double_stride_{s}", f"T * {s}", "double")
WIDE = {
    "one": "T / 32",
    "pairs": "T / 2",
    "quads": "T / 4",
    "half_again": "T % 16",
    "quarter_again": "T % 8",
    "xor": "T ^ 25",
    "scrambled": "T * T % 251",
    "two_rows": "T % 2 * 64 + T / 64",
    "reversed": "255 - T",
    "far_halves": "T % 32 / 16 * 16 + T % 2",
    "far_quarters": "T % 32 / 8 * 32 + T % 3",
}
for name, index in WIDE.items():
    shared_load(f"double_{name}", index, "double")
    shared_load(f"vector_2_{name}", index, "float", 2)
    shared_load(f"vector_4_{name}", index, "float", 4)
shared_load("bytes", "T", "unsigned char")
shared_load("bytes_stride_4", "T * 4", "unsigned char")
shared_load("bytes_stride_132", "T % 128 * 132", "unsigned char")
shared_load("shorts_stride_3", "T * 3", "short")
for width in (2, 4):
    for s in (1, 2, 5):
        shared_load(f"vector_{width}_stride_{s}", f"T * {s}", "float", width)
for s in (1, 2, 32):
    shared_store(f"stride_{s}", f"T * {s}")
for name, index in (("xor", "T ^ 25"), ("shuffled", "T * 37 % 256"), ("transposed", "T % 16 * 16 + T / 16")):
    shared_store(f"double_{name}", index, "double")
    shared_store(f"vector_4_{name}", index, "float", 4)
shared_store("double_stride_2", "T * 2", "double")
shared_store("bytes_stride_8", "T * 8", "unsigned char")
shared_store("vector_4_stride_3", "T * 3", "float", 4)

# --- atomics ----------------------------------------------------------------------------------------------------------


def histogram(bins: np.ndarray, size: int, dtype: type = np.int32) -> np.ndarray:
    return np.bincount(bins, minlength=size).astype(dtype)


for name, index, size in (
    ("one_address", "0", 1),
    ("own_address", "i", N),
    ("stride_8", "i * 8", 8 * N),
    ("pairs", "i / 2", N // 2),
    ("sixteen", "i % 16", 16),
    ("a_warp_each", "i / 32", N // 32),
    ("scattered", "i * 37 % 64", 64),
    ("crowded", "T * T % 61", 61),
    ("very_crowded", "T * T % 19 * 5", 96),
):
    bins = evaluate(index, np.arange(N))
    add(
        f"reduction_{name}",
        "int* out",
        f"{INDEX}\n    atomicAdd(out + {index}, 1);",
        {"out": np.zeros(size, np.int32)},
        lambda out, bins=bins, size=size: histogram(bins, size),
    )
    add(
        f"atomic_{name}",
        "int* out, int* old",
        f"{INDEX}\n    old[i] = atomicAdd(out + ({index}), 1 + (i & 1));",
        {"out": np.zeros(size, np.int32), "old": np.zeros(N, np.int32)},
        lambda out, old, bins=bins, size=size: np.bincount(bins, 1 + (np.arange(N) & 1), size).astype(np.int32),
    )
add(
    "reduction_float",
    "const float* a, float* out",
    f"{INDEX}\n    atomicAdd(out + i % 32, a[i]);",
    {"a": FLOATS[:N], "out": np.zeros(32, np.float32)},
    lambda a, out: a.reshape(-1, 32).sum(0, dtype=np.float64),
    tolerance=1e-4,
)
add(
    "reduction_double",
    "const float* a, double* out",
    f"{INDEX}\n    atomicAdd(out + i % 8, (double)a[i]);",
    {"a": FLOATS[:N], "out": np.zeros(8)},
    lambda a, out: a.reshape(-1, 8).sum(0, dtype=np.float64),
    tolerance=1e-9,
)
add(
    "reduction_max_64",
    "const long long* a, long long* out",
    f"{INDEX}\n    atomicMax(out + i % 5, a[i]);",
    {"a": values("long long", N), "out": np.zeros(5, np.int64)},
    lambda a, out: np.array([a[k::5].max() for k in range(5)]),
)
add(
    "reduction_double_crowded",
    "const float* a, double* out",
    f"{INDEX}\n    atomicAdd(out + T * T % 61, (double)a[i]);",
    {"a": FLOATS[:N], "out": np.zeros(61)},
    lambda a, out: np.bincount(np.arange(N) % THREADS * (np.arange(N) % THREADS) % 61, a, 61),
    tolerance=1e-9,
)
add(
    "reduction_odd_lanes",
    "int* out",
    f"{INDEX}\n    if (i & 1) atomicAdd(out + i / 4, 1);",
    {"out": np.zeros(N // 4, np.int32)},
    lambda out: np.full(N // 4, 2, np.int32),
)
add(
    "compare_and_swap",
    "int* out",
    f"{INDEX}\n    if (atomicCAS(out + i, 0, i + 1) != 0) out[0] = -1;",
    {"out": np.zeros(N, np.int32)},
    lambda out: np.arange(1, N + 1, dtype=np.int32),
)
keys = random.integers(0, 256, N).astype(np.int32)
add(
    "histogram_shared",
    "const int* a, int* out",
    f"    __shared__ int s[256];\n{INDEX}\n    s[T] = 0;\n    __syncthreads();\n    atomicAdd(s + a[i], 1);\n"
    "    __syncthreads();\n    atomicAdd(out + T, s[T]);",
    {"a": keys, "out": np.zeros(256, np.int32)},
    lambda a, out: histogram(a, 256),
)
for name, index in (
    ("one_address", "0"),
    ("own_address", "T"),
    ("stride_32", "T * 32 % 8192"),
    ("pairs", "T / 2"),
    ("crowded", "T * T % 61"),
    ("a_warp_each", "T / 32"),
):
    place = evaluate(index, np.arange(THREADS))
    size = -(-(int(place.max()) + 1) // THREADS) * THREADS
    add(
        f"shared_atomic_{name}",
        "int* out",
        f"    __shared__ int s[{size}];\n{INDEX}\n    for (int k = T; k < {size}; k += {THREADS}) s[k] = 0;\n"
        f"    __syncthreads();\n    atomicAdd(s + {index}, 1);\n    __syncthreads();\n    out[i] = s[{index}];",
        {"out": np.zeros(N, np.int32)},
        lambda out, place=place, size=size: np.tile(histogram(place, size)[place], GRID),
    )

# --- whole algorithms -------------------------------------------------------------------------------------------------

SIDE = 128
SQUARE = FLOATS[: SIDE * SIDE]


def transposed(a: np.ndarray, out: np.ndarray) -> np.ndarray:
    return a.reshape(SIDE, SIDE).T.ravel()


tiles = {"grid": (SIDE // 32, SIDE // 32, 1), "block": (32, 8, 1)}
add(
    "transpose_naive",
    "const float* a, float* out",
    "    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;\n"
    f"    for (int j = 0; j < 32; j += 8) out[x * {SIDE} + y + j] = a[(y + j) * {SIDE} + x];",
    {"a": SQUARE, "out": np.zeros(SIDE * SIDE, np.float32)},
    transposed,
    **tiles,
)
for name, width in (("tile", 32), ("padded", 33)):
    add(
        f"transpose_{name}",
        "const float* a, float* out",
        f"    __shared__ float s[32][{width}];\n"
        "    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;\n"
        f"    for (int j = 0; j < 32; j += 8) s[threadIdx.y + j][threadIdx.x] = a[(y + j) * {SIDE} + x];\n"
        "    __syncthreads();\n    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;\n"
        f"    for (int j = 0; j < 32; j += 8) out[(y + j) * {SIDE} + x] = s[threadIdx.x][threadIdx.y + j];",
        {"a": SQUARE, "out": np.zeros(SIDE * SIDE, np.float32)},
        transposed,
        **tiles,
    )
add(
    "stencil_line",
    "const float* a, float* out",
    f"{INDEX}\n    float sum = 0;\n    for (int k = -3; k <= 3; ++k) sum += a[i + 3 + k];\n    out[i] = sum;",
    {"a": FLOATS[: N + 6], "out": np.zeros(N, np.float32)},
    lambda a, out: np.convolve(a.astype(np.float64), np.ones(7), "valid"),
    tolerance=1e-5,
)
add(
    "stencil_shared",
    "const float* a, float* out",
    f"    __shared__ float s[{THREADS + 6}];\n{INDEX}\n    for (int k = T; k < {THREADS + 6}; k += {THREADS})"
    " s[k] = a[i - T + k];\n    __syncthreads();\n    float sum = 0;\n"
    "    for (int k = 0; k < 7; ++k) sum += s[T + k];\n"
    "    out[i] = sum;",
    {"a": FLOATS[: N + 6], "out": np.zeros(N, np.float32)},
    lambda a, out: np.convolve(a.astype(np.float64), np.ones(7), "valid"),
    tolerance=1e-5,
)


def five_points(a: np.ndarray, out: np.ndarray) -> np.ndarray:
    s = a.reshape(SIDE, SIDE).astype(np.float64)
    result = np.zeros((SIDE, SIDE))
    result[1:-1, 1:-1] = s[1:-1, :-2] + s[1:-1, 2:] + s[:-2, 1:-1] + s[2:, 1:-1] - 4 * s[1:-1, 1:-1]
    return result.ravel()


add(
    "stencil_plane",
    "const float* a, float* out",
    "    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;\n"
    f"    if (x > 0 && y > 0 && x < {SIDE - 1} && y < {SIDE - 1})\n"
    f"        out[y * {SIDE} + x] = a[y * {SIDE} + x - 1] + a[y * {SIDE} + x + 1] + a[(y - 1) * {SIDE} + x]\n"
    f"                           + a[(y + 1) * {SIDE} + x] - 4 * a[y * {SIDE} + x];",
    {"a": SQUARE, "out": np.zeros(SIDE * SIDE, np.float32)},
    five_points,
    grid=(SIDE // 32, SIDE // 8, 1),
    block=(32, 8, 1),
    tolerance=1e-4,
)


def product(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> np.ndarray:
    return (a.reshape(SIDE, SIDE).astype(np.float64) @ b.reshape(SIDE, SIDE)).ravel()


OTHER = FLOATS[SIDE * SIDE : 2 * SIDE * SIDE]
add(
    "multiply_naive",
    "const float* a, const float* b, float* out",
    "    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;\n    float sum = 0;\n"
    f"    for (int k = 0; k < {SIDE}; ++k) sum += a[y * {SIDE} + k] * b[k * {SIDE} + x];\n"
    f"    out[y * {SIDE} + x] = sum;",
    {"a": SQUARE, "b": OTHER, "out": np.zeros(SIDE * SIDE, np.float32)},
    product,
    grid=(SIDE // 16, SIDE // 16, 1),
    block=(16, 16, 1),
    tolerance=1e-5,
)
for side in (16, 32):
    add(
        f"multiply_tiles_{side}",
        "const float* a, const float* b, float* out",
        f"    __shared__ float s[{side}][{side}], t[{side}][{side}];\n"
        "    int tx = threadIdx.x, ty = threadIdx.y;\n"
        f"    int x = blockIdx.x * {side} + tx, y = blockIdx.y * {side} + ty;\n    float sum = 0;\n"
        f"    for (int k = 0; k < {SIDE}; k += {side}) {{\n"
        f"        s[ty][tx] = a[y * {SIDE} + k + tx];\n        t[ty][tx] = b[(k + ty) * {SIDE} + x];\n"
        f"        __syncthreads();\n        for (int j = 0; j < {side}; ++j) sum += s[ty][j] * t[j][tx];\n"
        f"        __syncthreads();\n    }}\n    out[y * {SIDE} + x] = sum;",
        {"a": SQUARE, "b": OTHER, "out": np.zeros(SIDE * SIDE, np.float32)},
        product,
        grid=(SIDE // side, SIDE // side, 1),
        block=(side, side, 1),
        tolerance=1e-5,
    )


def block_sums(a: np.ndarray, out: np.ndarray) -> np.ndarray:
    return a.reshape(GRID, THREADS).sum(1, dtype=np.float64)


for name, step in (
    ("interleaved", "for (int d = 1; d < 256; d *= 2) { if (T % (2 * d) == 0) s[T] += s[T + d]; __syncthreads(); }"),
    (
        "strided",
        "for (int d = 1; d < 256; d *= 2) { int k = 2 * d * T; if (k < 256) s[k] += s[k + d]; __syncthreads(); }",
    ),
    ("halving", "for (int d = 128; d > 0; d /= 2) { if (T < d) s[T] += s[T + d]; __syncthreads(); }"),
):
    add(
        f"sum_{name}",
        "const float* a, float* out",
        f"    __shared__ float s[256];\n{INDEX}\n    s[T] = a[i];\n    __syncthreads();\n    {step}\n"
        "    if (T == 0) out[blockIdx.x] = s[0];",
        {"a": FLOATS[:N], "out": np.zeros(GRID, np.float32)},
        block_sums,
        tolerance=1e-5,
    )
add(
    "sum_shuffles",
    "const float* a, float* out",
    f"    __shared__ float s[8];\n{INDEX}\n    float x = a[i];\n"
    "    for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(~0u, x, d);\n"
    "    if (T % 32 == 0) s[T / 32] = x;\n    __syncthreads();\n"
    "    if (T == 0) { for (int k = 1; k < 8; ++k) x += s[k]; out[blockIdx.x] = x; }",
    {"a": FLOATS[:N], "out": np.zeros(GRID, np.float32)},
    block_sums,
    tolerance=1e-5,
)


def running_sums(a: np.ndarray, out: np.ndarray) -> np.ndarray:
    return a.reshape(GRID, THREADS).cumsum(1, dtype=np.float64).ravel()


add(
    "scan_steps",
    "const float* a, float* out",
    f"    __shared__ float s[2][256];\n{INDEX}\n    int from = 0;\n    s[0][T] = a[i];\n    __syncthreads();\n"
    "    for (int d = 1; d < 256; d *= 2) {\n"
    "        s[1 - from][T] = T >= d ? s[from][T] + s[from][T - d] : s[from][T];\n"
    "        from = 1 - from;\n        __syncthreads();\n    }\n    out[i] = s[from][T];",
    {"a": FLOATS[:N], "out": np.zeros(N, np.float32)},
    running_sums,
    tolerance=1e-5,
)
for name, pad in (("tree", "(k)"), ("tree_padded", "((k) + (k) / 32)")):
    at = lambda k, pad=pad: pad.replace("k", f"({k})")  # noqa: E731
    add(
        f"scan_{name}",
        "const float* a, float* out",
        f"    __shared__ float s[264];\n{INDEX}\n    s[{at('T')}] = a[i];\n"
        "    for (int d = 1; d < 256; d *= 2) {\n        __syncthreads();\n"
        f"        int k = (T + 1) * 2 * d - 1;\n        if (k < 256) s[{at('k')}] += s[{at('k - d')}];\n    }}\n"
        "    for (int d = 64; d > 0; d /= 2) {\n        __syncthreads();\n"
        f"        int k = (T + 1) * 2 * d - 1;\n        if (k + d < 256) s[{at('k + d')}] += s[{at('k')}];\n    }}\n"
        f"    __syncthreads();\n    out[i] = s[{at('T')}];",
        {"a": FLOATS[:N], "out": np.zeros(N, np.float32)},
        running_sums,
        tolerance=1e-5,
    )
add(
    "scan_shuffles",
    "const float* a, float* out",
    f"{INDEX}\n    float x = a[i];\n    for (int d = 1; d < 32; d *= 2) {{ float y = __shfl_up_sync(~0u, x, d);"
    " if (T % 32 >= d) x += y; }\n    out[i] = x;",
    {"a": FLOATS[:N], "out": np.zeros(N, np.float32)},
    lambda a, out: a.reshape(-1, 32).cumsum(1, dtype=np.float64).ravel(),
    tolerance=1e-5,
)
add(
    "grid_stride",
    "const float* a, float* out",
    f"{INDEX}\n    float sum = 0;\n    for (int k = i; k < 4 * {N}; k += n) sum += a[k];\n    out[i] = sum;",
    {"a": FLOATS, "out": np.zeros(N, np.float32)},
    lambda a, out: a.reshape(4, N).sum(0, dtype=np.float64),
    tolerance=1e-5,
)

lengths = random.integers(0, 20, 1024)
starts = np.concatenate([[0], lengths.cumsum()]).astype(np.int32)
columns = random.integers(0, 1024, int(starts[-1])).astype(np.int32)
add(
    "sparse_rows",
    "const int* start, const int* column, const float* a, const float* b, float* out",
    f"{INDEX}\n    float sum = 0;\n    for (int k = start[i]; k < start[i + 1]; ++k) sum += a[k] * b[column[k]];\n"
    "    out[i] = sum;",
    {
        "start": starts,
        "column": columns,
        "a": np.resize(FLOATS, len(columns)),
        "b": FLOATS[:1024],
        "out": np.zeros(1024, np.float32),
    },
    lambda start, column, a, b, out: np.bincount(
        np.repeat(np.arange(1024), lengths), a.astype(np.float64) * b[column], 1024
    ),
    grid=(4, 1, 1),
    tolerance=1e-5,
)
add(
    "softmax_rows",
    "const float* a, float* out",
    "    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;\n"
    "    float x[4], top = -1e30f, sum = 0;\n"
    "    for (int k = 0; k < 4; ++k) { x[k] = a[row * 128 + k * 32 + lane]; top = fmaxf(top, x[k]); }\n"
    "    for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));\n"
    "    for (int k = 0; k < 4; ++k) { x[k] = __expf(x[k] - top); sum += x[k]; }\n"
    "    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);\n"
    "    for (int k = 0; k < 4; ++k) out[row * 128 + k * 32 + lane] = x[k] / sum;",
    {"a": FLOATS[: 128 * 128], "out": np.zeros(128 * 128, np.float32)},
    lambda a, out: (
        np.exp(a.reshape(128, 128).astype(np.float64))
        / np.exp(a.reshape(128, 128).astype(np.float64)).sum(1, keepdims=True)
    ).ravel(),
    grid=(16, 1, 1),
    tolerance=1e-5,
)
add(
    "local_array",
    "const float* a, const int* index, float* out",
    f"{INDEX}\n    float x[16];\n    for (int k = 0; k < 16; ++k) x[k] = a[(i + k) % n];\n"
    "    out[i] = x[index[i]] + x[index[i] ^ 1];",
    {"a": FLOATS[:N], "index": random.integers(0, 16, N).astype(np.int32), "out": np.zeros(N, np.float32)},
    lambda a, index, out: a[(np.arange(N) + index) % N] + a[(np.arange(N) + (index ^ 1)) % N],
)
add(
    "copies_in_flight",
    "const float* a, float* out",
    f"    __shared__ float s[{THREADS}];\n{INDEX}\n    __pipeline_memcpy_async(s + T, a + i, 4);\n"
    "    __pipeline_commit();\n    __pipeline_wait_prior(0);\n    __syncthreads();\n    out[i] = s[T ^ 32];",
    {"a": FLOATS[:N], "out": np.zeros(N, np.float32)},
    lambda a, out: a[np.arange(N) ^ 32],
)


# --- running them -----------------------------------------------------------------------------------------------------


def run(module: Any, kernel: Kernel) -> str:
    """Launch once; "" or what is wrong."""
    import pycuda.driver as cuda

    buffers, arguments = {}, []
    for name, value in kernel.inputs.items():
        if isinstance(value, np.ndarray):
            buffers[name] = cuda.to_device(value)
            arguments.append(buffers[name])
        else:
            arguments.append(np.int32(value))
    module.get_function(kernel.name)(*arguments, grid=kernel.grid, block=kernel.block)
    got = cuda.from_device_like(buffers["out"], kernel.inputs["out"])
    want = kernel.expect(**kernel.inputs)
    if kernel.tolerance == 0:
        right = np.array_equal(got, want)
    else:
        right = bool(np.all(np.abs(got - want) <= kernel.tolerance * np.maximum(1, np.abs(want))))  # NaN is not <=
    return "" if right else f"{kernel.name}: wrong in {int(np.sum(~np.isclose(got, want)))} of {want.size} elements"


def main(names: list[str]) -> int:
    import pycuda.autoinit  # noqa: F401
    from pycuda.compiler import SourceModule

    kernels = [kernel for kernel in KERNELS if not names or kernel.name in names]
    source = PRELUDE + "".join(kernel.source for kernel in kernels)
    module = SourceModule(source, options=["-O3", "-lineinfo", "-diag-suppress", "177"], no_extern_c=True)
    wrong = [fault for kernel in kernels if (fault := run(module, kernel))]
    print("\n".join(wrong) or f"{len(kernels)} kernels")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
