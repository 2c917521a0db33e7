"""Where arrays are, and how a product is launched and checked."""

import os
from collections import Counter
from typing import Any

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # what Triton 3.9 does, and warns of where it is not said

import re

import numpy as np
import pycuda.driver as cuda
import triton
import triton.language as tl
import warpbench as wb
from pycuda import gpuarray
from triton.tools.tensor_descriptor import TensorDescriptor

KINDS = {"bf16": tl.bfloat16, "e4m3": tl.float8e4nv}  # types that NumPy does not have

if wb.is_gpu():
    wb.needs(packages="torch")
    import torch


# --8<-- [start:put]
def put(array: np.ndarray, kind: str = "") -> Any:
    """The array on the device: on a GPU a tensor of PyTorch, on softcuda an array of PyCUDA."""
    array = np.ascontiguousarray(array)
    if wb.is_gpu():
        tensor = torch.from_numpy(array.view({"uint16": np.int16}.get(array.dtype.name, array.dtype))).cuda()
        return tensor.view({"bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn}[kind]) if kind else tensor
    tensor = gpuarray.to_gpu(array)
    return triton.reinterpret(tensor, KINDS[kind]) if kind else tensor


def get(tensor: Any) -> np.ndarray:
    """What a tensor of a type that NumPy has holds."""
    return tensor.cpu().numpy() if wb.is_gpu() else tensor.get()


# --8<-- [end:put]


def poison(tensor: Any) -> None:
    """Enqueue: all bits of the tensor are ones, which is NaN in every float."""
    nbytes = tensor.numel() * tensor.element_size() if wb.is_gpu() else tensor.nbytes
    cuda.memset_d8_async(tensor.data_ptr() if wb.is_gpu() else tensor.ptr, 0xFF, nbytes)


# --8<-- [start:problem]
class Problem:
    """Random A and B in fp16, what C must be, and how far a right answer may be from it.

    Products of two fp16 numbers are exact in fp32. A tensor core cuts off what it adds below fp32's last digit, so each
    of K additions is wrong by at most 2^-23 of the magnitudes added so far; C is then rounded to fp16.
    """

    def __init__(self, rng: np.random.Generator, m: int, n: int, k: int, every: bool = True) -> None:
        self.shape = m, n, k
        a, b = (self.random(rng, shape) for shape in ((m, k), (k, n)))
        self.a, self.b, self.c = put(a), put(b), put(np.empty((m, n), np.float16))
        self.rows = np.arange(m) if every else np.sort(rng.choice(m, 48, replace=False))
        self.columns = np.arange(n) if every else np.sort(rng.choice(n, 48, replace=False))
        some_a, some_b = a[self.rows].astype(np.float64), b[:, self.columns].astype(np.float64)
        self.want = some_a @ some_b
        self.bound = k * 2.0**-23 * (np.abs(some_a) @ np.abs(some_b)) * 1.01 + 2.0**-11 * np.abs(self.want) + 2.0**-25

    @staticmethod
    def random(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        """Normal numbers, drawn from 65536 of them."""
        return rng.standard_normal(65536).astype(np.float16)[rng.integers(0, 65536, shape, dtype=np.uint16)]

    def reset(self) -> None:
        poison(self.c)

    def check(self, what: str) -> float:
        """The worst error as a share of the bound; no element may be unwritten."""
        got = get(self.c)
        if np.isnan(got).any():
            raise AssertionError(f"{what}: some elements are NaN or were not written")
        return wb.check(got[np.ix_(self.rows, self.columns)], self.want, self.bound, what)


# --8<-- [end:problem]


# --8<-- [start:launch]
class Launch:
    """A kernel with its tile; called with a problem it launches, and `asm` is then what the compiler made."""

    def __init__(self, kernel: Any, rows: int, columns: int, depth: int, group: int, warps: int, stages: int) -> None:
        self.kernel, self.tile = kernel, {"ROWS": rows, "COLUMNS": columns, "DEPTH": depth, "GROUP": group}
        self.options = {"num_warps": warps, "num_stages": stages}
        self.made: Any = None

    def __call__(self, problem: Problem, *more: Any, programs: int = 0) -> None:
        m, n, k = problem.shape
        tile = self.tile
        tiles = triton.cdiv(m, tile["ROWS"]) * triton.cdiv(n, tile["COLUMNS"])
        arrays = [problem.a, problem.b, problem.c]
        if self.kernel.__name__ in ("described", "persistent"):
            shapes = (("ROWS", "DEPTH"), ("DEPTH", "COLUMNS"), ("ROWS", "COLUMNS"))
            arrays = [
                TensorDescriptor(array, list(array.shape), [array.shape[1], 1], [tile[name] for name in names])
                for array, names in zip(arrays, shapes, strict=True)
            ]
        grid = (min(tiles, programs or tiles),)
        self.made = self.kernel[grid](*arrays, *more, m, n, k, **tile, **self.options)

    @property
    def loop(self) -> "Counter[str]":
        """The instructions of the step that the last launch repeated along K."""
        return loop_of(self.made.asm["ptx"])


# --8<-- [end:launch]


# --8<-- [start:ptx]
INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+\s+)?(?P<name>[a-z][\w.:]*)", re.MULTILINE)
LABEL = re.compile(r"^(?P<name>\$L__BB\d+_\d+):", re.MULTILINE)
JUMP = re.compile(r"bra(?:\.uni)?\s+(?P<to>\$L__BB\d+_\d+);")


def loop_of(ptx: str) -> Counter[str]:
    """The instructions of the innermost loop that multiplies, by their names."""
    labels = {label["name"]: label.start() for label in LABEL.finditer(ptx)}
    bodies = [ptx[labels[jump["to"]] : jump.end()] for jump in JUMP.finditer(ptx) if labels[jump["to"]] < jump.start()]
    bodies = [body for body in bodies if "mma" in body or "fma.rn" in body]
    return Counter(found["name"] for found in INSTRUCTION.finditer(min(bodies, key=len))) if bodies else Counter()


# --8<-- [end:ptx]
