"""Time v5 and v6 of hist.cu in turn with CUB's DeviceHistogram, on floats and on bytes.

python cub.py   on a GPU, and where nvcc finds CUB: compile cub.cu, check both, time 2^26 floats and 2^28 bytes

CUB clears its counts itself, so the launches of ours are timed with the clearing, too.
"""

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that the library uses, too
import pycuda.driver as cuda
import warpbench as wb
from _hist import BINS, Problem, launches
from skew import KINDS

Count = Callable[[int], None]  # the i-th of a problem's inputs


# --8<-- [start:build]
def build() -> ctypes.CDLL:
    """Compile cub.cu for this GPU and load it."""
    source = Path(__file__).with_name("cub.cu")
    arch = "sm_{}{}".format(*cuda.Context.get_device().compute_capability())
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "cub.so")
        options = ["-shared", "-Xcompiler", "-fPIC", "-O3", f"-arch={arch}"]
        built = subprocess.run(["nvcc", *options, "-o", library, source], capture_output=True, text=True)
        if built.returncode:
            print(f"skipped: nvcc cannot compile cub.cu: {built.stderr.strip().splitlines()[-1]}")
            sys.exit(wb.SKIPPED)
        return ctypes.CDLL(str(library))


# --8<-- [end:build]


def cub(library: ctypes.CDLL, problem: Problem, what: str) -> Count:
    """How CUB counts this problem's elements."""
    function, bytes_needed = library[f"count_{what}"], ctypes.c_size_t()

    def call(temporary: ctypes.c_void_p | None, i: int) -> None:
        x, out = (ctypes.c_void_p(int(memory)) for memory in (problem.inputs[i % 2], problem.out))
        if status := function(temporary, ctypes.byref(bytes_needed), x, out, problem.n):
            raise RuntimeError(f"DeviceHistogram returns {status}")

    call(None, 0)
    memory = cuda.mem_alloc(max(1, bytes_needed.value))
    return lambda i: call(ctypes.c_void_p(int(memory)), i)


def ours(problem: Problem, launch: Callable) -> Count:
    def run(i: int) -> None:
        problem.clear()
        problem.run(launch, i)

    return run


# --8<-- [start:pairs]
def rounds(counts: list[Count]) -> list[list[float]]:
    """Time all in turn, in eight rounds of ten launches each; the medians of each round."""
    times: list[list[float]] = [[] for _ in counts]
    for i in range(8):
        for which in range(len(counts))[:: -1 if i % 2 else 1]:
            times[which].append(wb.time(counts[which], repeats=10, warmup=1).median)
    return times


# --8<-- [end:pairs]


def measure(library: ctypes.CDLL, name: str, x: np.ndarray) -> None:
    problem, kernels = Problem(x), launches(x.dtype.type)
    ways = {f"hist_{rung}": ours(problem, kernels[rung]) for rung in ("v5", "v6")}
    ways["cub"] = cub(library, problem, "floats" if x.dtype == np.float32 else "bytes")
    for what, way in ways.items():
        cuda.memset_d32(problem.out, 0xFFFFFFFF, BINS)
        cuda.memset_d32(int(problem.out) + 4 * BINS, 0, 1)  # CUB has no count of what is in no bin, and here it is 0
        way(0)
        problem.check(f"{what}, {name}")
    times = dict(zip(ways, rounds(list(ways.values())), strict=True))
    for what, found in times.items():
        low, median, high = (float(t) for t in np.percentile(found, [10, 50, 90]))
        gain = [theirs / t for t, theirs in zip(found, times["cub"], strict=True)]
        wb.timing(f"{name}.{what}", wb.Timing(median, low, high, len(found)), problem.nbytes)
        print(f"{name:8} {what:8}{median * 1e6:9.1f} µs{problem.nbytes / median / 1e9:8.0f} GB/s", end="")
        print(f"{np.median(gain):8.2f} times as fast as CUB")
        if what != "cub":
            low, middle, high = (float(g) for g in np.percentile(gain, [10, 50, 90]))
            wb.value(f"{name}.{what}.share", 100 * middle, "%", (100 * low, 100 * high))
    problem.free()


if __name__ == "__main__":
    wb.needs(gpu=True)
    library, rng = build(), np.random.default_rng()
    measure(library, "floats", rng.random(2**26, dtype=np.float32))
    for kind in ("uniform", "zipf", "equal"):
        measure(library, f"bytes_{kind}", KINDS[kind](rng, 2**28))
