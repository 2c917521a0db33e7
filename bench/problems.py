"""What is timed: six kernels, their data, and what NumPy says of the results.

A kernel is kernels/NAME.cu, and kernels/NAME.cl for OpenCL: the same statements; `blocked` is for softcuda alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True)
class Problem:
    name: str
    size: str  # for people
    grid: tuple[int, int]  # blocks
    block: tuple[int, int]  # threads
    arguments: list[Any]  # arrays are copied to the device before each run, the scalars passed
    result: int  # which argument the kernel writes
    expected: np.ndarray
    relative: float  # error allowed; 0: none
    amount: float  # of work, in `unit` seconds
    unit: str

    def source(self, suffix: str) -> str:
        return (KERNELS / f"{self.name}.{suffix}").read_text()

    def check(self, result: np.ndarray, who: str) -> None:
        """A result that is wrong, not written or not a number ends the benchmark."""
        error = np.abs(result.astype(np.float64) - self.expected)
        bound = self.relative * np.abs(self.expected).max()
        if not np.all(error <= bound):  # NaN is no smaller than anything
            raise SystemExit(f"{who}: {self.name} is wrong: {np.count_nonzero(~(error <= bound))} elements")


def unwritten(shape: Any) -> np.ndarray:
    return np.full(shape, np.nan, np.float32)


def sgemm(n: int = 512) -> Problem:
    random = np.random.default_rng(1)
    a, b = random.random((2, n, n), np.float32)
    return Problem(
        "sgemm", f"{n}²", (n // 16, n // 16), (16, 16), [a, b, unwritten((n, n)), np.int32(n)], 2,
        a.astype(np.float64) @ b, 1e-5, 2e-9 * n**3, "GFLOP/s",
    )  # fmt: skip


def blocked(n: int = 512) -> Problem:
    same = sgemm(n)
    return replace(same, name="blocked", grid=(n // 64, n // 64))


def transpose(n: int = 4096) -> Problem:
    a = np.random.default_rng(2).random((n, n), np.float32)
    return Problem(
        "transpose", f"{n}²", (n // 32, n // 32), (32, 8), [a, unwritten((n, n)), np.int32(n)], 1, a.T, 0,
        8e-9 * n**2, "GB/s",
    )  # fmt: skip


def reduction(n: int = 1 << 24, blocks: int = 256) -> Problem:
    a = np.random.default_rng(3).random(n, np.float32)
    return Problem(
        "reduction", f"{n >> 20} M", (blocks, 1), (256, 1), [a, unwritten(blocks), np.int32(n)], 1,
        a.astype(np.float64).reshape(-1, blocks, 256).sum((0, 2)), 1e-5, 4e-9 * n, "GB/s",
    )  # fmt: skip


def histogram(n: int = 1 << 24, blocks: int = 256) -> Problem:
    a = np.random.default_rng(4).integers(0, 256, n, np.uint8)
    return Problem(
        "histogram", f"{n >> 20} M", (blocks, 1), (256, 1), [a, np.zeros(256, np.uint32), np.int32(n)], 1,
        np.bincount(a, minlength=256), 0, 1e-9 * n, "GB/s",
    )  # fmt: skip


def stencil(n: int = 4096) -> Problem:
    a = np.random.default_rng(5).random((n, n), np.float32)
    expected = a.astype(np.float64)
    inner = expected[1:-1, 1:-1]
    sides = expected[1:-1, :-2] + expected[1:-1, 2:] + expected[:-2, 1:-1] + expected[2:, 1:-1]
    expected[1:-1, 1:-1] = 0.5 * inner + 0.125 * sides
    return Problem(
        "stencil", f"{n}²", (n // 32, n // 8), (32, 8), [a, unwritten((n, n)), np.int32(n)], 1, expected, 1e-6,
        8e-9 * n**2, "GB/s",
    )  # fmt: skip


PROBLEMS: dict[str, Callable[..., Problem]] = {
    "sgemm": sgemm,
    "blocked": blocked,
    "transpose": transpose,
    "reduction": reduction,
    "histogram": histogram,
    "stencil": stencil,
}
