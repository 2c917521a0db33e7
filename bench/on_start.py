"""How soon a first kernel runs after SourceModule(...), cold and with PyCUDA's cache warm, and how much memory softcuda
takes beside what was allocated.  Real nvcc's time for the same source is measured in the same process."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pycuda.autoinit  # noqa: F401
import pycuda.driver as cuda
from problems import sgemm
from pycuda.compiler import SourceModule

from softcuda import _nvcc

SOURCE = sgemm(16).source("cu")


def first_kernel(cache: str) -> float:
    before = time.perf_counter()
    kernel = SourceModule(SOURCE, no_extern_c=True, cache_dir=cache).get_function("sgemm")
    kernel(memory, memory, memory, cuda.np.int32(16), grid=(1, 1), block=(16, 16, 1))
    cuda.Context.synchronize()
    return time.perf_counter() - before


def real_nvcc(folder: str) -> float:
    """To a cubin, as PyCUDA would have it."""
    source = Path(folder, "kernel.cu")
    source.write_text(SOURCE)
    arch = "sm_{}{}".format(*cuda.Context.get_device().compute_capability())
    before = time.perf_counter()
    subprocess.run([_nvcc.find_nvcc(), "--cubin", "-arch", arch, source], cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - before


memory = cuda.mem_alloc(1024)
cold, warm, nvcc = [], [], []
for _ in range(int(sys.argv[1]) if sys.argv[1:] else 3):
    with tempfile.TemporaryDirectory() as folder:
        nvcc.append(real_nvcc(folder))
    with tempfile.TemporaryDirectory() as cache:
        cold.append(first_kernel(cache))
        warm += [first_kernel(cache) for _ in range(5)]

BYTES = 1 << 30
large = cuda.mem_alloc(BYTES)
cuda.memset_d8(large, 1, BYTES)
cuda.Context.synchronize()
resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
print(json.dumps({"cold": min(cold), "warm": min(warm), "nvcc": min(nvcc), "bytes": BYTES, "resident": resident}))
