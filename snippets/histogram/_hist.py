"""The kernels of hist.cu: how each is launched, data to count, and what a histogram is compared with."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pycuda.driver as cuda
import warpbench as wb

BINS, BLOCK = 256, 512  # as in hist.cu
ROWS = BINS + 1  # the last one counts elements in no bin
PER_SM = 4  # blocks of the kernels that stride
WIDE_BLOCK, WIDE_PER_SM = 1024, 2  # of v6: the best for floats and for bytes of 36 choices that we timed
RUNGS = ("v0", "v1", "v2", "v3", "v4", "v5", "v6")
ELEMENTS = {"float32": "float", "uint8": "unsigned char"}

Launch = Callable[[Any, Any, int], None]  # of (elements, out, n)


# --8<-- [start:launches]
def launches(dtype: type) -> dict[str, Launch]:
    """The launch of each kernel of hist.cu for this type of element, by name."""
    module = wb.module("histogram/hist.cu", ELEMENT=ELEMENTS[np.dtype(dtype).name])
    sms = cuda.Context.get_device().multiprocessor_count

    def launch(name: str) -> Launch:
        kernel = module.get_function(f"hist_{name}")

        def run(x: Any, out: Any, n: int) -> None:
            block, per_sm = (WIDE_BLOCK, WIDE_PER_SM) if name == "v6" else (BLOCK, PER_SM)
            grid = -(-n // BLOCK) if name in ("v0", "v1", "matched") else per_sm * sms
            kernel(x, out, np.uint32(n), block=(block, 1, 1), grid=(grid, 1))

        return run

    return {name: launch(name) for name in (*RUNGS, "runs", "matched")}


# --8<-- [end:launches]


# --8<-- [start:data]
def floats(rng: np.random.Generator, n: int) -> np.ndarray:
    """Uniform in [0, 1); where there is room, a few of them on edges of bins, outside, or no numbers."""
    x = rng.random(n, dtype=np.float32)
    odd = np.array([0, 1, 0.5, 255 / 256, -1e-9, 1.0000001, np.nan, np.inf, -np.inf, -0.0], np.float32)
    if n >= 2 * odd.size:
        x[rng.choice(n, odd.size, replace=False)] = odd
    return x


def reference(x: np.ndarray) -> np.ndarray:
    """The counts by NumPy: of floats between its edges, of bytes per value; the last of what is in no bin."""

    def count(part: np.ndarray) -> np.ndarray:
        if part.dtype == np.float32:
            return np.histogram(part[(part >= 0) & (part <= 1)], BINS, (0, 1))[0]
        return np.bincount(part, minlength=BINS)

    total = np.zeros(ROWS, np.int64)
    with ThreadPoolExecutor() as pool:
        total[:BINS] = sum(pool.map(count, np.array_split(x, -(-x.size // 2**22))))
    total[BINS] = x.size - total[:BINS].sum()
    return total


# --8<-- [end:data]


# --8<-- [start:problem]
class Problem:
    """Elements on the device, twice, so that they can take turns; the counts of a launch; what they must be."""

    def __init__(self, x: np.ndarray, want: np.ndarray | None = None) -> None:
        self.n, self.nbytes = x.size, x.nbytes
        self.want = reference(x) if want is None else want
        self.inputs = [cuda.to_device(x), cuda.to_device(x[::-1].copy())]
        self.out = cuda.mem_alloc(4 * ROWS)
        self.got = np.empty(ROWS, np.uint32)

    def clear(self, _: int = 0) -> None:
        """Enqueue: all counts are zero."""
        cuda.memset_d32_async(self.out, 0, ROWS)

    def run(self, launch: Launch, i: int = 0) -> None:
        launch(self.inputs[i % 2], self.out, self.n)

    def check(self, what: str) -> None:
        cuda.memcpy_dtoh(self.got, self.out)
        wb.check(self.got, self.want, 0, what)

    def time(self, launch: Launch, what: str, repeats: int = 50, warmup: int = 5) -> wb.Timing:
        return wb.time(
            lambda i: self.run(launch, i),
            repeats=repeats,
            warmup=warmup,
            poison=self.clear,
            check=lambda _: self.check(what),
        )

    def free(self) -> None:
        for memory in (*self.inputs, self.out):
            memory.free()


# --8<-- [end:problem]


def check_all(rng: np.random.Generator, sizes: tuple[int, ...]) -> None:
    """Every kernel at every size, on floats and on bytes: exact."""
    for dtype in (np.float32, np.uint8):
        kernels = launches(dtype)
        for n in sizes:
            x = floats(rng, n) if dtype is np.float32 else rng.integers(0, BINS, n, dtype=np.uint8)
            problem = Problem(x)
            for name, launch in kernels.items():
                problem.clear()
                problem.run(launch)
                problem.check(f"hist_{name} of {n} {x.dtype} elements")
            problem.free()
            print(f"{x.dtype!s:8} n = {n:>10,}  {len(kernels)} kernels, exact")
