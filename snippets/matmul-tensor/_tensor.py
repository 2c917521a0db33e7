"""The rungs of this folder's kernels: how they are launched, and what a right result is."""

import ctypes
import functools
import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pycuda.driver as cuda
import warpbench as wb
from pycuda import compiler


# --8<-- [start:kinds]
@dataclass(frozen=True)
class Kind:
    """A type of A and B: its bytes, its number in a tensor map, and what pingpong.cu and final.cu must be told."""

    bytes: int
    map: int
    wgmma: str
    flags: str
    out: int  # type of C: 0 bf16, 1 fp16, 2 fp32

    @property
    def macros(self) -> dict[str, Any]:
        strings = {"WGMMA_TYPE": f'"{self.wgmma}"', "WGMMA_FLAGS": f'"{self.flags}"'}
        return {"ELEMENT": self.bytes, "OUT": self.out, **strings}


KINDS = {
    "bf16": Kind(2, 9, "k16.f32.bf16.bf16", ", 1, 1, 0, 0", 0),
    "fp16": Kind(2, 6, "k16.f32.f16.f16", ", 1, 1, 0, 0", 1),
    "tf32": Kind(4, 7, "k8.f32.tf32.tf32", ", 1, 1", 2),
    "e4m3": Kind(1, 0, "k32.f32.e4m3.e4m3", ", 1, 1", 0),
}
# --8<-- [end:kinds]
# Of C: its type, the type of its bits, its number in a tensor map, its binary digits
OUTS = (("bf16", np.uint16, 9, 8), ("fp16", np.uint16, 6, 11), ("fp32", np.uint32, 7, 24))
Tile = dict[str, int]  # the parameters of pingpong.cu or final.cu
PINGPONG: Tile = {"STAGES": 6, "CLUSTER": 2, "GROUP": 16}
FINAL: Tile = {"STAGES": 4, "CLUSTER": 2, "GROUP": 16}


E4M3 = np.array([(8 + i % 8) * 2.0 ** (i // 8 - 10) if i >= 8 else i * 2.0**-9 for i in range(127)])  # its numbers ≥ 0


def encode(x: np.ndarray, kind: str) -> np.ndarray:
    """The bits of the nearest numbers that the type has."""
    bits = x.astype(np.float32).view(np.uint32)
    if kind == "bf16":
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    if kind == "fp16":
        return x.astype(np.float16).view(np.uint16)
    if kind == "tf32":
        return bits + 0xFFF + (bits >> 13 & 1) & ~np.uint32(0x1FFF)
    place = np.searchsorted((E4M3[1:] + E4M3[:-1]) / 2, np.abs(x)).astype(np.uint8)
    return place | (np.signbit(x).astype(np.uint8) << 7)


def decode(bits: np.ndarray, kind: str) -> np.ndarray:
    """The numbers behind the bits, in float64."""
    if kind == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind == "e4m3":
        return np.concatenate([E4M3, [np.nan], -E4M3, [np.nan]])[bits]
    return bits.view({"fp16": np.float16, "tf32": np.float32, "fp32": np.float32}[kind]).astype(np.float64)


def random(rng: np.random.Generator, shape: tuple[int, int], kind: str) -> np.ndarray:
    """Bits of normal random numbers, drawn from 65536 of them."""
    return encode(rng.standard_normal(65536), kind)[rng.integers(0, 65536, shape, dtype=np.uint16)]


# --8<-- [start:map]
@functools.cache
def driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")  # PyCUDA has no name for cuTensorMapEncodeTiled


def tensor_map(address: Any, rows: int, columns: int, box_rows: int, size: int, kind: int) -> np.ndarray:
    """A matrix for the copy engine, in boxes of 128 bytes of `box_rows` rows, swizzled within 128 bytes."""
    room = np.zeros(192, np.uint8)
    place = room[-room.ctypes.data % 64 :][:128]  # a map lies at a multiple of 64
    longs, words = ctypes.c_uint64, ctypes.c_uint32
    status = driver().cuTensorMapEncodeTiled(
        ctypes.c_void_p(place.ctypes.data), kind, 2, ctypes.c_void_p(int(address)),
        (longs * 2)(columns, rows), (longs * 1)(columns * size),
        (words * 2)(128 // size, box_rows), (words * 2)(1, 1),
        0, 3, 2, 0,  # not interleaved; 128-byte swizzle; the L2 fetches 128 bytes; zeros outside
    )  # fmt: skip
    if status:
        raise RuntimeError(f"cuTensorMapEncodeTiled: error {status}")
    return place


# --8<-- [end:map]


# --8<-- [start:rungs]
@dataclass(frozen=True)
class Rung:
    name: str
    file: str
    rows: int  # of C per tile
    columns: int
    threads: int
    shared: int = 0  # bytes of dynamic shared memory
    persistent: bool = False
    cluster: int = 1


def ring(columns: int, stages: int) -> int:
    return stages * (128 + columns) * 128


RUNGS = [
    Rung("v0", "mma.cu", 32, 32, 256),
    Rung("v1", "mma.cu", 128, 128, 256),
    Rung("v2", "mma.cu", 128, 128, 256),
    Rung("v3", "mma.cu", 128, 128, 256, ring(128, 3)),
    Rung("v4", "wgmma.cu", 128, 128, 128, ring(128, 1)),
    Rung("v5", "wgmma.cu", 128, 128, 256, ring(128, 5)),
    Rung("v6", "wgmma.cu", 128, 256, 256, ring(256, 4)),
    Rung("v7", "wgmma.cu", 128, 256, 384, ring(256, 4)),
    Rung("v8", "wgmma.cu", 128, 256, 384, ring(256, 4)),
    Rung("v9", "persistent.cu", 128, 256, 384, ring(256, 4), persistent=True),
    Rung("v10", "persistent.cu", 128, 256, 384, ring(256, 4), persistent=True),
    Rung("v11", "persistent.cu", 128, 256, 384, ring(256, 4), persistent=True, cluster=2),
    Rung("v12", "persistent.cu", 128, 256, 384, ring(256, 4) + 32768, persistent=True, cluster=2),
]
# --8<-- [end:rungs]
NAMES = [*(one.name for one in RUNGS), "v13", "v14"]


@functools.cache
def module(file: str, **macros: Any) -> Any:
    """Compiled for sm_90a, which has wgmma."""
    folder = wb.ROOT / "matmul-tensor"
    text = wb.source(f"matmul-tensor/{file}", **macros)
    options = ["-lineinfo", "-std=c++17", f"-I{folder}"]
    with warnings.catch_warnings():  # v6 spills, which is its point
        warnings.simplefilter("ignore")
        image = compiler.compile(text, options=options, arch="sm_90a", no_extern_c=True)
    return cuda.module_from_buffer(image)


class Maps:
    """The tensor maps in the constant memory of a module; they are copied only when others are wanted."""

    def __init__(self, module: Any) -> None:
        self.address, _ = module.get_global("maps")
        self.held: tuple[np.ndarray, ...] = ()

    def use(self, *maps: np.ndarray) -> None:
        if list(map(id, maps)) != list(map(id, self.held)):
            cuda.memcpy_htod(self.address, np.concatenate(maps))
            self.held = maps


@functools.cache
def maps_of(file: str, **macros: Any) -> Maps:
    return Maps(module(file, **macros))


Launch = Callable[["Problem"], None]


def grid_of(rung: Rung, m: int, n: int, blocks: int) -> int:
    """How many blocks a rung takes in one dimension: a tile each, or as many as stay."""
    tiles = -(-m // (rung.rows * rung.cluster)) * -(-n // rung.columns)
    return rung.cluster * (min(tiles, blocks // rung.cluster) if rung.persistent else tiles)


def launch_of(rung: Rung, blocks: int) -> Launch:
    """The launch of a rung; a persistent one has at most `blocks` blocks."""
    kernel = module(rung.file).get_function(f"gemm_{rung.name}")
    if rung.shared:
        kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, rung.shared)

    def launch(problem: "Problem") -> None:
        m, n, k = problem.shape
        sizes = np.int32(m), np.int32(n), np.int32(k)
        if rung.file == "mma.cu":
            operands, grid = [problem.a, problem.b, problem.c], (-(-n // rung.columns), -(-m // rung.rows))
        else:
            boxes = problem.map_a(rung.rows), problem.map_b(rung.columns // rung.cluster), problem.map_c()
            maps_of(rung.file).use(*boxes)
            operands, grid = ([] if rung.name == "v12" else [problem.c]), (grid_of(rung, m, n, blocks), 1)
        kernel(*operands, *sizes, block=(rung.threads, 1, 1), grid=grid, shared=rung.shared)

    launch.kernel = kernel
    return launch


def pingpong(kind: str, blocks: int, tile: Tile = PINGPONG) -> Launch:
    """The launch of pingpong.cu, whose blocks of a cluster lie beside each other."""
    return parametric("pingpong.cu", "gemm_v13", kind, blocks, tile, (128, 128), (1, tile["CLUSTER"]))


def final(kind: str, blocks: int, tile: Tile = FINAL) -> Launch:
    """The launch of final.cu, whose blocks of a cluster lie below each other."""
    return parametric("final.cu", "gemm_v14", kind, blocks, tile, (128, 256), (tile["CLUSTER"], 1))


def parametric(
    file: str, name: str, kind: str, blocks: int, tile: Tile, shape: tuple[int, int], cluster: tuple[int, int]
) -> Launch:
    """The launch of a kernel for a type and with these parameters; its tile's shape, and blocks of a cluster."""
    macros = KINDS[kind].macros | tile
    kernel = module(file, **macros).get_function(name)
    (rows, columns), (below, beside) = shape, cluster
    shared = ring(columns, tile["STAGES"]) + (32768 if file == "final.cu" or KINDS[kind].out < 2 else 0)
    kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
    maps = maps_of(file, **macros)

    def launch(problem: "Problem") -> None:
        m, n, k = problem.shape
        maps.use(problem.map_a(rows // beside), problem.map_b(columns // below), problem.map_c())
        tiles = -(-m // (rows * below)) * -(-n // (columns * beside))
        grid = below * beside * min(tiles, blocks // (below * beside))
        operands = [] if file == "final.cu" else [problem.c]
        sizes = np.int32(m), np.int32(n), np.int32(k)
        kernel(*operands, *sizes, block=(384, 1, 1), grid=(grid, 1), shared=shared)

    launch.kernel = kernel
    return launch


def ladder(blocks: int) -> dict[str, Launch]:
    """All rungs, v0 to v14, by name."""
    rungs = {one.name: launch_of(one, blocks) for one in RUNGS}
    return rungs | {"v13": pingpong("bf16", blocks), "v14": final("bf16", blocks)}


# --8<-- [start:problem]
class Problem:
    """Random A (M x K) and B (N x K) on the device, what A Bᵀ must be, and how far a right answer may be from it.

    Products of two elements are exact in fp32. A tensor core cuts off what it adds below fp32's last digit, so that
    each of K additions is wrong by at most 2^-23 of the magnitudes added so far (e4m3: 2^-13, once for 32 products);
    C is then rounded.
    """

    def __init__(self, rng: np.random.Generator, m: int, n: int, k: int, kind: str = "bf16") -> None:
        a, b = (decode(x, kind) for x in self.prepare(rng, m, n, k, kind))
        self.want = a @ b.T
        self.bound = self.bound_of(self.want, np.abs(a) @ np.abs(b).T)

    def prepare(self, rng: np.random.Generator, m: int, n: int, k: int, kind: str) -> list[np.ndarray]:
        self.out, self.array, self.out_map, self.digits = OUTS[KINDS[kind].out]
        self.out_size = np.dtype(self.array).itemsize
        if k * KINDS[kind].bytes % 16 or n * self.out_size % 16:
            raise ValueError(f"K = {k} and N = {n}: rows of A, B and C must be multiples of 16 bytes")
        self.shape, self.kind = (m, n, k), kind
        bits = [random(rng, shape, kind) for shape in ((m, k), (n, k))]
        self.a, self.b = (cuda.to_device(x) for x in bits)
        self.bytes = m * n * self.out_size
        self.c = cuda.mem_alloc(self.bytes)
        self.maps: dict[tuple[str, int], np.ndarray] = {}
        return bits

    def bound_of(self, want: np.ndarray, magnitude: np.ndarray) -> np.ndarray:
        k = self.shape[2]
        each = (k // 32 + 1) * 2.0**-13 if self.kind == "e4m3" else 2 * k * 2.0**-24
        return (1 + 2.0**-self.digits) * each * magnitude + 2.0**-self.digits * np.abs(want)

    def reset(self, _: int = 0) -> None:
        """Enqueue: all of C is NaN."""
        cuda.memset_d8_async(self.c, 0xFF, self.bytes)

    def result(self) -> np.ndarray:
        """The bits of C."""
        bits = np.empty((self.shape[0], self.shape[1]), self.array)
        cuda.memcpy_dtoh(bits, self.c)
        return bits

    def check(self, what: str) -> float:
        """The worst error as a share of the bound."""
        return wb.check(decode(self.result(), self.out), self.want, self.bound, what)

    # --8<-- [end:problem]
    def map_of(self, which: str, address: Any, rows: int, columns: int, box: int, size: int, kind: int) -> np.ndarray:
        if (which, box) not in self.maps:
            self.maps[which, box] = tensor_map(address, rows, columns, box, size, kind)
        return self.maps[which, box]

    def map_a(self, box: int) -> np.ndarray:
        m, _, k = self.shape
        return self.map_of("a", self.a, m, k, box, KINDS[self.kind].bytes, KINDS[self.kind].map)

    def map_b(self, box: int) -> np.ndarray:
        _, n, k = self.shape
        return self.map_of("b", self.b, n, k, box, KINDS[self.kind].bytes, KINDS[self.kind].map)

    def map_c(self) -> np.ndarray:
        m, n, _ = self.shape
        return self.map_of("c", self.c, m, n, 64, self.out_size, self.out_map)


class Sample(Problem):
    """A large product of which 32 random rows and 32 random columns are compared; all must be written."""

    def __init__(self, rng: np.random.Generator, n: int, kind: str = "bf16") -> None:
        a, b = self.prepare(rng, n, n, n, kind)
        self.rows, self.columns = (rng.choice(n, 32, replace=False) for _ in range(2))
        self.parts = []
        for some, other in ((a[self.rows], b), (b[self.columns], a)):
            some, other = decode(some, kind), decode(other, kind)
            want, magnitude = some @ other.T, np.abs(some) @ np.abs(other).T
            self.parts.append((want, self.bound_of(want, magnitude)))

    def check(self, what: str) -> float:
        bits = self.result()
        if (bits == np.iinfo(bits.dtype).max).any():
            raise AssertionError(f"{what}: some elements were not written")
        got = bits[self.rows], bits[:, self.columns].T
        return max(wb.check(decode(g, self.out), *part, what) for g, part in zip(got, self.parts, strict=True))


def check(problems: Sequence[Problem], launches: dict[str, Launch]) -> float:
    """Every launch on every problem; the worst error as a share of its bound."""
    worst = 0.0
    for problem, (name, launch) in itertools.product(problems, launches.items()):
        problem.reset()
        launch(problem)
        worst = max(worst, problem.check(f"{name}, M, N, K = {problem.shape}"))
    return worst


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: Any, shape: tuple[int, ...], of: str) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": of, "data": (int(address), False), "strides": None,
        }  # fmt: skip


def cublas(problem: Problem) -> Callable[[], None]:
    """C = A Bᵀ by torch, which calls cuBLAS, with the same types."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = True
    types = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32, "e4m3": torch.float8_e4m3fn}
    m, n, k = problem.shape

    def tensor(address: Any, shape: tuple[int, int], kind: str) -> Any:
        raw = {1: "|u1", 2: "<i2", 4: "<f4"}[KINDS[kind].bytes]
        return torch.as_tensor(Shared(address, shape, raw), device="cuda").view(types[kind])

    a, b = tensor(problem.a, (m, k), problem.kind), tensor(problem.b, (n, k), problem.kind).t()
    c = tensor(problem.c, (m, n), {"fp32": "tf32"}.get(problem.out, problem.out))
    if problem.kind != "e4m3":
        return lambda: torch.mm(a, b, out=c)
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16, use_fast_accum=True, out=c)
