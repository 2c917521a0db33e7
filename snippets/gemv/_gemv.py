"""The rungs of gemv.cu and tensor.cu: how each is launched, and what its result is compared with."""

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy as shallow
from typing import Any

import numpy as np
import pycuda.driver as cuda
import warpbench as wb

TILE, CHUNK = 128, 128  # of tensor.cu: rows of W per block, and the unit in which K is divided
THREADS = 256  # per block, everywhere

Launch = Callable[["Problem", int], None]  # of a problem, and the number of its copy of W


# --8<-- [start:rungs]
ROWS_PER_BLOCK = {
    "v0": THREADS,
    "v1": THREADS // 32,
    "v2": THREADS // 32,
    "v3": THREADS // 8,
    "v4": THREADS // 8,
    "v5": TILE,
}


def simple(name: str, padded: bool = False) -> Launch:
    """One launch, blocks along the rows of W: v0 to v5, from v4 on with a padded x."""

    def launch(p: "Problem", i: int = 0) -> None:
        grid = (-(-p.n // ROWS_PER_BLOCK[name]), 1)
        kernel(name, p)(p.w[i], p.x_at(padded), p.y, *p.sizes(padded), block=(THREADS, 1, 1), grid=grid)

    return launch


def atomics(splits: int) -> Launch:
    """v6: y is zeroed, then every block adds its part of K to it."""

    def launch(p: "Problem", i: int = 0) -> None:
        cuda.memset_d32_async(p.y, 0, p.m * p.n)
        grid = (-(-p.n // TILE), splits)
        kernel("v6", p)(p.w[i], p.x_at(), p.y, *p.sizes(), block=(THREADS, 1, 1), grid=grid)

    return launch


def fixed_up(splits: int) -> Launch:
    """v7: every block stores its sums, and a second launch adds them up."""

    def launch(p: "Problem", i: int = 0) -> None:
        n, grid = np.int32(p.n), (-(-p.n // TILE), splits)
        parts = p.scratch(splits * p.m * p.n)
        kernel("v7", p)(p.w[i], p.x_at(), parts, *p.sizes(), block=(THREADS, 1, 1), grid=grid)
        grid = (-(-p.m * p.n // THREADS), 1)
        function("fix_up", p)(parts, p.y, n, np.int32(splits), block=(THREADS, 1, 1), grid=grid)

    return launch


def stream(blocks: int) -> Launch:
    """v8: as many blocks as the device holds at once share all of W evenly."""

    def launch(p: "Problem", i: int = 0) -> None:
        n, k, tiles = np.int32(p.n), np.int32(p.k), -(-p.n // TILE)
        used = min(blocks, tiles * -(-p.k // CHUNK))  # every block gets a chunk
        parts = p.scratch(used * 2 * p.m * TILE)
        kernel("v8", p)(p.w[i], p.x_at(), p.y, parts, *p.sizes(), block=(THREADS, 1, 1), grid=(used, 1))
        function("stream_fix_up", p)(parts, p.y, n, k, np.int32(used), block=(TILE, 1, 1), grid=(tiles, p.m))

    return launch


# --8<-- [end:rungs]


@functools.cache
def tensor_module(m: int) -> Any:
    return wb.module("gemv/tensor.cu", M=m)


@functools.cache
def core_module(m: int, bf16: bool) -> Any:
    return wb.module("gemv/gemv.cu", M=m, ELEMENT="unsigned short" if bf16 else "float")


def compile_all(batches: Sequence[int], fp32: bool = False) -> None:
    """Compile for all of these M at once, so that the modules above find their code in the compiler's cache."""
    from pycuda.compiler import compile

    sources = [wb.source("gemv/tensor.cu", M=m) for m in batches]
    for element in ("unsigned short", "float") if fp32 else ("unsigned short",):
        sources += [wb.source("gemv/gemv.cu", M=m, ELEMENT=element) for m in batches]
    arch = "sm_{}{}".format(*cuda.Context.get_device().compute_capability())
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda text: compile(text, options=["-lineinfo"], no_extern_c=True, arch=arch), sources))


@functools.cache
def _function(name: str, m: int, bf16: bool) -> Any:
    on_cores = name in ("gemv_v0", "gemv_v1", "gemv_v2", "gemv_v3", "gemv_v4")
    return (core_module(m, bf16) if on_cores else tensor_module(m)).get_function(name)


def function(name: str, p: "Problem") -> Any:
    return _function(name, p.m, p.bf16)


def kernel(name: str, p: "Problem") -> Any:
    return function(f"gemv_{name}", p)


def resident() -> int:
    """Blocks of tensor.cu that the device holds at once: two per SM."""
    return 2 * cuda.Context.get_device().multiprocessor_count


def ladder(splits: int, blocks: int, bf16: bool = True) -> dict[str, Launch]:
    """All rungs, v0 to v8; in fp32 those on CUDA cores."""
    cores = {name: simple(name) for name in ("v0", "v1", "v2", "v3")} | {"v4": simple("v4", padded=True)}
    tensor = {"v5": simple("v5", padded=True), "v6": atomics(splits), "v7": fixed_up(splits), "v8": stream(blocks)}
    return cores | tensor if bf16 else cores


# --8<-- [start:problem]
class Problem:
    """W and x on the device, and what y = x Wᵀ must be.

    Whole numbers are so small that every sum of them is exact in fp32, in any order. Sums of other numbers may differ
    from float64 by two roundings of 2^-24 per element of K, relative to the sum of the magnitudes.
    """

    def __init__(
        self, rng: np.random.Generator, m: int, n: int, k: int, bf16: bool = True, whole: bool = False, copies: int = 1
    ) -> None:
        self.m, self.n, self.k, self.bf16 = m, n, k, bf16
        x = draw(rng, (m, k), 3 if whole else 0, bf16)
        self.w, self.want, self.bound = [], [], []
        for _ in range(copies):  # take turns, so that none is in the L2
            w = draw(rng, (n, k), min(127, 2**24 // (3 * k)) if whole else 0, bf16)
            self.w.append(cuda.to_device(stored(w, bf16)))
            if whole:
                self.want.append(x @ w.T)  # float32, and exact
                self.bound.append(0.0)
            else:
                wide = x.astype(np.float64), w.astype(np.float64).T
                self.want.append(wide[0] @ wide[1])
                self.bound.append(2 * k * 2.0**-24 * (np.abs(wide[0]) @ np.abs(wide[1])))
        self.nbytes = n * k * (2 if bf16 else 4)  # of W
        apart = np.full((m, k + self.padding()), np.nan, np.float32)
        apart[:, :k] = x
        self.x, self.padded_x = (cuda.to_device(stored(rows, bf16)) for rows in (x, apart))
        self.y = cuda.mem_alloc(4 * m * n)
        self._scratch, self._scratch_items = None, 0

    def padding(self) -> int:
        """Elements between the rows of the padded x: 128 bytes."""
        return 64 if self.bf16 else 32

    def x_at(self, padded: bool = True) -> Any:
        return self.padded_x if padded else self.x

    def sizes(self, padded: bool = True) -> tuple[np.int32, np.int32, np.int32]:
        """N, K and the pitch of x."""
        return np.int32(self.n), np.int32(self.k), np.int32(self.k + (self.padding() if padded else 0))

    def scratch(self, items: int) -> Any:
        """Device memory for so many floats, filled with NaN when it is new."""
        if items > self._scratch_items:
            self._scratch, self._scratch_items = cuda.mem_alloc(4 * items), items
            cuda.memset_d32_async(self._scratch, 0xFFFFFFFF, items)
        return self._scratch

    def first_rows(self, m: int) -> "Problem":
        """The same W with the first m rows of x."""
        found = shallow(self)
        found.m, found.want, found._scratch_items = m, [want[:m] for want in self.want], 0
        return found

    def first_weights(self, n: int) -> "Problem":
        """The same x with the first n rows of W."""
        found = shallow(self)
        found.n, found.nbytes, found._scratch_items = n, self.nbytes // self.n * n, 0
        found.want = [want[:, :n] for want in self.want]
        return found

    def poison(self, _: int = 0) -> None:
        """Enqueue: y and the scratch memory are NaN."""
        cuda.memset_d32_async(self.y, 0xFFFFFFFF, self.m * self.n)
        if self._scratch:
            cuda.memset_d32_async(self._scratch, 0xFFFFFFFF, self._scratch_items)

    def result(self) -> np.ndarray:
        y = np.empty((self.m, self.n), np.float32)
        cuda.memcpy_dtoh(y, self.y)
        return y

    def check(self, launch: Launch, what: str) -> float:
        """Launch on every copy of W; the worst error as a share of the bound."""
        worst = 0.0
        for i, (want, bound) in enumerate(zip(self.want, self.bound, strict=True)):
            self.poison()
            launch(self, i)
            worst = max(worst, wb.check(self.result(), want, bound, f"{what}, M, N, K = {self.m, self.n, self.k}"))
        return worst


# --8<-- [end:problem]


def draw(rng: np.random.Generator, shape: tuple[int, int], most: int, bf16: bool) -> np.ndarray:
    """Whole numbers up to `most`, or numbers in [-1, 1); as floats that a bf16 can hold, if it must."""
    if most:
        return rng.integers(-most, most, shape, dtype=np.int8, endpoint=True).astype(np.float32)
    numbers = 2 * rng.random(shape, dtype=np.float32) - 1
    return (numbers.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32) if bf16 else numbers


def stored(numbers: np.ndarray, bf16: bool) -> np.ndarray:
    """As the kernels read them."""
    return (numbers.view(np.uint32) >> np.uint32(16)).astype(np.uint16) if bf16 else numbers


# --8<-- [start:pairs]
def rounds(launches: Sequence[Callable[[int], object]], seconds: float) -> list[list[float]]:
    """Time all in turn, a few launches each, for about `seconds` each; the medians of each round."""
    times: list[list[float]] = [[] for _ in launches]
    repeats = [max(1, min(10, int(seconds / 8 / wb.time(one, repeats=1, warmup=1).median))) for one in launches]
    for i in range(8):
        for which in range(len(launches))[:: -1 if i % 2 else 1]:
            times[which].append(wb.time(launches[which], repeats=repeats[which], warmup=1).median)
    return times


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """The median, and the 10th and the 90th percentile."""
    low, median, high = (float(x) for x in np.percentile(values, [10, 50, 90]))
    return median, low, high


# --8<-- [end:pairs]


def shares(ours: Sequence[float], others: Sequence[float], factor: float = 100.0) -> tuple[float, float, float]:
    """How fast we are, in per cent of another, round by round; factor: per cent, times our share of the bytes."""
    return spread([factor * theirs / mine for mine, theirs in zip(ours, others, strict=True)])


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: Any, shape: tuple[int, ...], typestr: str) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": typestr, "data": (int(address), False), "strides": None,
        }  # fmt: skip


def tensor(address: Any, shape: tuple[int, ...], bf16: bool) -> Any:
    import torch

    found = torch.as_tensor(Shared(address, shape, "<i2" if bf16 else "<f4"), device="cuda")
    return found.view(torch.bfloat16) if bf16 else found


def cublas(p: Problem, padded: bool = False) -> Callable[[int], Any]:
    """y = x Wᵀ by torch, which calls cuBLAS; fp32 in full. In bf16 y is bf16 too, half as many bytes as ours."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    pitch = p.k + (p.padding() if padded else 0)
    weights, x = [tensor(w, (p.n, p.k), p.bf16) for w in p.w], tensor(p.x_at(padded), (p.m, pitch), p.bf16)[:, : p.k]
    y = torch.empty((p.m, p.n), dtype=x.dtype, device="cuda")
    for i, want in enumerate(p.want):
        torch.mm(x, weights[i].T, out=y)
        if not np.allclose(y.float().cpu().numpy(), want, rtol=0.01, atol=0.01 * float(np.abs(want).max())):
            raise AssertionError(f"torch: M, N, K = {p.m, p.n, p.k}")
    return lambda i: torch.mm(x, weights[i % len(weights)].T, out=y)


def timed(p: Problem, launch: Launch) -> Callable[[int], None]:
    """What wb.time calls: the copies of W take turns."""
    return lambda i: launch(p, i % len(p.w))


def copy(nbytes: int = 2**29) -> Callable[[int], None]:
    """The yardstick: the driver copies so many bytes."""
    buffers = [cuda.mem_alloc(nbytes) for _ in range(2)]
    for buffer in buffers:
        cuda.memset_d32(buffer, 0x3F803F80, nbytes // 4)
    return lambda i: cuda.memcpy_dtod_async(buffers[1], buffers[0], nbytes)
