"""Climb the ladder of hist.cu: check every kernel, then time 2^26 floats beside a copy and torch.histc.

python ladder.py             check; on a GPU also time
python ladder.py --profile   launch each kernel once for a profiler: 2^26 floats (softcuda: 2^22)
"""

import sys
from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _hist import BINS, RUNGS, Problem, check_all, launches

try:
    import torch
except ImportError:
    torch = None


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: Any, n: int) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": (n,), "typestr": "<f4", "data": (int(address), False), "strides": None,
        }  # fmt: skip


def time_copy(problem: Problem) -> wb.Timing:
    target = cuda.mem_alloc(problem.nbytes)
    t = wb.time(lambda i: cuda.memcpy_dtod_async(target, problem.inputs[i % 2], problem.nbytes))
    target.free()
    return t


def time_torch(problem: Problem) -> wb.Timing:
    """torch.histc with the same bins; its counts must be the same."""
    tensors = [torch.as_tensor(Shared(x, problem.n), device="cuda") for x in problem.inputs]
    counts = torch.histc(tensors[0], BINS, 0.0, 1.0).cpu().numpy()
    wb.check(counts.astype(np.int64), problem.want[:BINS], 0, "torch.histc")
    return wb.time(lambda i: torch.histc(tensors[i % 2], BINS, 0.0, 1.0))


def measure(rng: np.random.Generator, n: int) -> None:
    kernels = launches(np.float32)
    problem = Problem(rng.random(n, dtype=np.float32))
    times = {name: problem.time(kernels[name], f"hist_{name}") for name in RUNGS}
    times["copy"] = time_copy(problem)
    if torch is not None:
        times["torch"] = time_torch(problem)
    print(f"\n{n:,} floats{'µs':>9}{'10 %':>9}{'90 %':>9}{'GB/s':>9}")
    for name, t in times.items():
        moved = problem.nbytes * (2 if name == "copy" else 1)
        wb.timing(name, t, moved)
        print(f"{name:17}{t.median * 1e6:9.1f}{t.low * 1e6:9.1f}{t.high * 1e6:9.1f}{moved / t.median / 1e9:9.0f}")


def profile(rng: np.random.Generator, n: int) -> None:
    kernels = launches(np.float32)
    problem = Problem(rng.random(n, dtype=np.float32))
    for name in RUNGS:
        problem.clear()
        problem.run(kernels[name])
        problem.check(f"hist_{name}")
        print(f"hist_{name} of {n} floats: exact")


if __name__ == "__main__":
    if "--profile" in sys.argv[1:]:
        profile(np.random.default_rng(20261123), 2**26 if wb.is_gpu() else 2**22)
    else:
        generator = np.random.default_rng()
        check_all(generator, (1, 31, 1023, 2**16 + 7, *([2**24 + 7] if wb.is_gpu() else [])))
        if wb.is_gpu():
            measure(generator, 2**26)
        else:
            print("no GPU: nothing is timed")
