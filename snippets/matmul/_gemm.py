"""The rungs of gemm.cu and tuned.cu: how each is launched, and what its result is compared with."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pycuda.driver as cuda
import warpbench as wb

Tile = dict[str, int]  # the parameters of tuned.cu


# --8<-- [start:rungs]
@dataclass(frozen=True)
class Rung:
    name: str
    rows: int  # of C per block
    columns: int
    block: tuple[int, int, int]


RUNGS = [
    Rung("v0", 32, 32, (32, 32, 1)),
    Rung("v1", 32, 32, (32, 32, 1)),
    Rung("v2", 32, 32, (32, 32, 1)),
    Rung("v3", 64, 64, (512, 1, 1)),
    *(Rung(name, 128, 128, (256, 1, 1)) for name in ("v4", "v5", "v6", "v7", "v8", "v9")),
]
TUNED: Tile = {"BM": 128, "BN": 128, "BK": 32, "WM": 32, "WN": 64, "TM": 8, "TN": 8, "STAGES": 2, "MINB": 2, "GROUP": 8}
# --8<-- [end:rungs]

Launch = Callable[..., None]  # of (m, n, k, alpha, a, b, beta, c)


def rung(module: Any, one: Rung) -> Launch:
    """The launch of a kernel of gemm.cu, which `module` is."""
    kernel = module.get_function(f"gemm_{one.name}")

    def launch(m: int, n: int, k: int, alpha: float, a: Any, b: Any, beta: float, c: Any) -> None:
        grid = (-(-n // one.columns), -(-m // one.rows), 1)
        sizes = (np.int32(m), np.int32(n), np.int32(k))
        kernel(*sizes, np.float32(alpha), a, b, np.float32(beta), c, block=one.block, grid=grid)

    return launch


def shared_bytes(tile: Tile) -> int:
    """Of one block of tuned.cu."""
    return 4 * tile["STAGES"] * tile["BK"] * (tile["BM"] + 4 + tile["BN"])


def threads(tile: Tile) -> int:
    return 32 * (tile["BM"] // tile["WM"]) * (tile["BN"] // tile["WN"])


def tuned(tile: Tile = TUNED) -> tuple[Launch, Any]:
    """The launch of tuned.cu with these parameters, and the kernel."""
    kernel = wb.module("matmul/tuned.cu", **tile).get_function("gemm_v10")
    shared = shared_bytes(tile)
    kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)

    def launch(m: int, n: int, k: int, alpha: float, a: Any, b: Any, beta: float, c: Any) -> None:
        grid = (-(-n // tile["BN"]) * -(-m // tile["BM"]), 1, 1)
        sizes = (np.int32(m), np.int32(n), np.int32(k))
        block = (threads(tile), 1, 1)
        kernel(*sizes, np.float32(alpha), a, b, np.float32(beta), c, block=block, grid=grid, shared=shared)

    return launch, kernel


def ladder() -> dict[str, Launch]:
    """All rungs, v0 to v10, by name."""
    module = wb.module("matmul/gemm.cu")
    return {one.name: rung(module, one) for one in RUNGS} | {"v10": tuned()[0]}


# --8<-- [start:problem]
class Problem:
    """Random A, B and C on the device, what alpha A B + beta C must be, and how far a right answer may be from it.

    A sum of K products rounds at most K + 3 times, each time by at most 2^-24 of the magnitudes added so far.
    """

    def __init__(self, rng: np.random.Generator, m: int, n: int, k: int, alpha: float = 1, beta: float = 0) -> None:
        self.shape, self.alpha, self.beta = (m, n, k), alpha, beta
        a, b, c = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n)))
        if beta == 0:
            c[:] = np.nan  # must not be read
        wide_a, wide_b, wide_c = (x.astype(np.float64) for x in (a, b, np.nan_to_num(c)))
        self.want = alpha * (wide_a @ wide_b) + beta * wide_c
        magnitude = abs(alpha) * (np.abs(wide_a) @ np.abs(wide_b)) + np.abs(beta * wide_c)
        self.bound = 1.01 * (k + 3) * 2.0**-24 * magnitude
        self.a, self.b, self.before = cuda.to_device(a), cuda.to_device(b), cuda.to_device(c)
        self.c, self.bytes = cuda.mem_alloc(c.nbytes), c.nbytes
        self.result = np.empty_like(c)

    def reset(self, _: int = 0) -> None:
        """Enqueue: C is again what it was, which for beta = 0 is NaN."""
        cuda.memcpy_dtod_async(self.c, self.before, self.bytes)

    def run(self, launch: Launch) -> None:
        launch(*self.shape, self.alpha, self.a, self.b, self.beta, self.c)

    def check(self, what: str) -> float:
        """The worst error as a share of the bound."""
        cuda.memcpy_dtoh(self.result, self.c)
        return wb.check(self.result, self.want, self.bound, what)


# --8<-- [end:problem]


class Sample(Problem):
    """A large product of which 32 random rows and 32 random columns are compared; all must be written."""

    def __init__(self, rng: np.random.Generator, n: int) -> None:
        self.shape, self.alpha, self.beta = (n, n, n), 1.0, 0.0
        a, b = (2 * rng.random((n, n), dtype=np.float32) - 1 for _ in range(2))
        self.rows, self.columns = (rng.choice(n, 32, replace=False) for _ in range(2))
        pairs = [(a[self.rows], b), (a, b[:, self.columns])]
        wide = [(x.astype(np.float64), y.astype(np.float64)) for x, y in pairs]
        self.parts = [(x @ y, 1.01 * (n + 3) * 2.0**-24 * (np.abs(x) @ np.abs(y))) for x, y in wide]
        self.a, self.b, self.c = cuda.to_device(a), cuda.to_device(b), cuda.mem_alloc(4 * n * n)
        self.result = np.empty((n, n), np.float32)

    def reset(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.c, 0xFFFFFFFF, self.shape[0] ** 2)

    def check(self, what: str) -> float:
        cuda.memcpy_dtoh(self.result, self.c)
        if not np.isfinite(self.result).all():
            raise AssertionError(f"{what}: some elements were not written")
        got = self.result[self.rows], self.result[:, self.columns]
        return max(wb.check(g, *part, what) for g, part in zip(got, self.parts, strict=True))


def check(problems: Sequence[Problem], launches: dict[str, Launch]) -> float:
    """Every launch on every problem; the worst error as a share of its bound."""
    worst = 0.0
    for problem, (name, launch) in itertools.product(problems, launches.items()):
        problem.reset()
        problem.run(launch)
        worst = max(worst, problem.check(f"{name}, M, N, K = {problem.shape}"))
    return worst


# --8<-- [start:pairs]
def rounds(ours: Callable[[int], None], theirs: Callable[[int], None], seconds: float) -> tuple[list, list]:
    """Time both in turn, a few launches each, for about `seconds`; the medians of each round."""
    one = wb.time(ours, repeats=1, warmup=1).median
    repeats = max(1, min(5, int(seconds / 16 / one)))
    times: tuple[list[float], list[float]] = ([], [])
    for i in range(8):
        for which in (0, 1) if i % 2 else (1, 0):
            times[which].append(wb.time((ours, theirs)[which], repeats=repeats, warmup=1).median)
    return times


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """The median, and the 10th and the 90th percentile."""
    low, median, high = (float(x) for x in np.percentile(values, [10, 50, 90]))
    return median, low, high


# --8<-- [end:pairs]


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: Any, shape: tuple[int, ...]) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": "<f4", "data": (int(address), False), "strides": None,
        }  # fmt: skip


def cublas(problem: Problem) -> Callable[[int], None]:
    """C = A B by torch, which calls cuBLAS, in full fp32."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    m, n, k = problem.shape
    a, b, c = (
        torch.as_tensor(Shared(x, shape), device="cuda")
        for x, shape in ((problem.a, (m, k)), (problem.b, (k, n)), (problem.c, (m, n)))
    )
    return lambda _: torch.mm(a, b, out=c)
