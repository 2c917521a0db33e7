"""Random programs: nvcc and softcuda against the same source compiled by g++ for the CPU, bit for bit.

FUZZ_SEED and FUZZ_KERNELS ask for other and for more programs than the fixed ones.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

import numpy as np
import pycuda.driver as cuda
import pytest
from pycuda.compiler import SourceModule

from . import generate

SEED = int(os.environ.get("FUZZ_SEED", "1"))
KERNELS = int(os.environ.get("FUZZ_KERNELS", "16"))
THREADS = 192  # six warps, of which each diverges in its own way

DEVICE_MACROS = """
#define DEVICE __device__ inline
#define KERNEL extern "C" __global__
#define THREAD thread = blockIdx.x * blockDim.x + threadIdx.x;
"""
HOST_MACROS = """
#define DEVICE static inline
#define KERNEL extern "C"
#define THREAD
"""
HOST_FLAGS = ["-O1", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-w", "-shared", "-fPIC"]


def corner_words(rng: np.random.Generator, count: int) -> np.ndarray:
    """Words that are small, near powers of two, floats of every kind, and random."""
    words = rng.integers(0, 1 << 64, count, dtype=np.uint64)
    kind = rng.integers(0, 6, count)
    words[kind == 0] &= np.uint64(0xF)
    powers = np.uint64(1) << rng.integers(0, 64, count).astype(np.uint64)
    words[kind == 1] = powers[kind == 1] - rng.integers(0, 3, count).astype(np.uint64)[kind == 1]
    words[kind == 2] = (rng.standard_normal(count) * 1000).view(np.uint64)[kind == 2]
    singles = (rng.standard_normal(count) * 100).astype(np.float32).view(np.uint32).astype(np.uint64)
    words[kind == 3] = singles[kind == 3]
    return words


def on_the_cpu(source: str, names: list[str], words: np.ndarray, folder: Path) -> dict[str, np.ndarray]:
    (folder / "host.cpp").write_text(source)
    subprocess.run(["g++", *HOST_FLAGS, str(folder / "host.cpp"), "-o", str(folder / "host.so")], check=True)
    library = ctypes.CDLL(str(folder / "host.so"))
    results = {}
    for name in names:
        out = np.full(THREADS * generate.OUTPUTS, 0xDEAD, np.uint64)
        for thread in range(THREADS):
            library[name](ctypes.c_void_p(words.ctypes.data), ctypes.c_void_p(out.ctypes.data), thread)
        results[name] = out
    return results


@pytest.mark.parametrize(
    ("variant", "options"),
    [("optimised", []), ("debug", ["-G"]), ("little", ["-Xcicc", "-O1"])],
    ids=["optimised", "debug", "less optimised"],
)
def test_expressions_and_control_flow(context: cuda.Context, tmp_path: Path, variant: str, options: list[str]) -> None:
    seed = SEED * 1000 + len(variant)
    made = generate.Generator(seed)
    names = [f"fuzz{n}" for n in range(KERNELS)]
    kernels = {name: made.kernel(name) for name in names}
    source = generate.PRELUDE + "".join(kernels.values())
    words = corner_words(np.random.default_rng(seed), THREADS * generate.INPUTS)
    expected = on_the_cpu(HOST_MACROS + source, names, words, tmp_path)

    module = SourceModule(DEVICE_MACROS + source, options=["-fmad=false", "-w", *options], no_extern_c=True)
    wrong = []
    for name in names:
        out = np.full(THREADS * generate.OUTPUTS, 0xDEAD, np.uint64)
        module.get_function(name)(cuda.In(words), cuda.InOut(out), np.int32(0), block=(THREADS // 2, 1, 1), grid=(2, 1))
        differ = np.flatnonzero((out != expected[name]).reshape(THREADS, -1).any(1))
        if differ.size:
            wrong.append(f"{name}: threads {differ[:8]}, e.g. {out.reshape(THREADS, -1)[differ[0]]} "
                         f"instead of {expected[name].reshape(THREADS, -1)[differ[0]]}\n{kernels[name]}")  # fmt: skip
    assert not wrong, f"seed {SEED}, {len(wrong)} of {KERNELS} kernels:\n" + "\n".join(wrong)
