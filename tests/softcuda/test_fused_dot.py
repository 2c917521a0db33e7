"""A fused dot product runs as one operation and is reported as one: counters and findings are the same as load by load,
which is how a kernel runs that reads the clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

SOURCE = '''
#define T 16
#define PRODUCT(name, begin, pitch, before, after)                                                  \\
    __global__ void name(const float *A, const float *B, float *C, int n) {                         \\
        __shared__ float a[T][T], b[T][pitch];                                                      \\
        int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, column = blockIdx.x * T + x; \\
        begin                                                                                       \\
        float sum = 0;                                                                              \\
        for (int k = 0; k < n; k += T) {                                                            \\
            a[y][x] = A[row * n + k + x];                                                           \\
            b[y][x] = B[(k + y) * n + column];                                                      \\
            before                                                                                  \\
            for (int j = 0; j < T; ++j) sum += a[y][j] * b[pitch == T ? j : x][pitch == T ? x : j]; \\
            after                                                                                   \\
        }                                                                                           \\
        C[row * n + column] = sum;                                                                  \\
    }
#define CLOCK asm volatile("{ .reg .u32 t; mov.u32 t, %clock; }");
#define BARRIER __syncthreads();
#define BOTH(name, pitch, before, after) \\
    PRODUCT(name, , pitch, before, after) PRODUCT(name##_apart, CLOCK, pitch, before, after)
extern "C" {
BOTH(whole, T, BARRIER, BARRIER)
BOTH(padded, T + 1, BARRIER, BARRIER)
BOTH(none_before, T, , BARRIER)
BOTH(none_after, T, BARRIER, )
__global__ void far(const float *, const float *, float *C, int n) {
    __shared__ float a[T], b[T];
    a[threadIdx.x] = b[threadIdx.x] = 1;
    __syncthreads();
    const float *row = a + threadIdx.x % 2 * (n / 64 * 0x1fffffff);  // 4 bytes short of 2 GiB
    const float *column = b + threadIdx.x / T;
    float sum = 0;
    for (int k = 0; k < n; ++k) {
        for (int j = 0; j < T; ++j) sum += row[j] * column[j];
        __syncthreads();
    }
    C[threadIdx.x] = sum;
}
}
'''
module = SourceModule(SOURCE, no_extern_c=True)
n = 64
a, b = np.random.default_rng(1).random((2, n, n), np.float32)
if sys.argv[1] == "far":
    try:
        module.get_function("far")(cuda.In(a), cuda.In(b), cuda.Out(b), np.int32(n), block=(16, 1, 1))
    except cuda.LogicError:
        sys.exit()
for name in sys.argv[1:]:
    for kernel in name, name + "_apart":
        c = np.zeros_like(a)
        module.get_function(kernel)(cuda.In(a), cuda.In(b), cuda.Out(c), np.int32(n), grid=(4, 4), block=(16, 16, 1))
        if name == "whole":
            assert np.allclose(c, a @ b, 1e-4)
"""


@pytest.fixture
def reported(tmp_path: Path):
    """What a command of softcuda's says of the kernels, as JSON, and its exit status."""
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(command: str, *kernels: str) -> tuple[list | dict, int]:
        done = subprocess.run(
            [sys.executable, "-m", "softcuda", command, "--json", "out.json", "program.py", *kernels], cwd=tmp_path,
            env=os.environ | {"SOFTCUDA_QUIET": "1"}, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return json.loads((tmp_path / "out.json").read_text()), done.returncode

    return run


def test_counters(reported):
    launches, _ = reported("profile", "whole", "padded")
    for product, apart in zip(launches[::2], launches[1::2], strict=True):
        assert apart["kernel"] == product["kernel"] + "_apart"
        shared = {name for name in product["metrics"] if "shared" in name}
        assert shared and all(product["metrics"][name] == apart["metrics"][name] for name in shared), product["kernel"]
        # Of 16 blocks, 8 warps each, 4 steps of 16 products.
        assert product["metrics"]["softcuda__requests_shared_op_ld.sum"] == 16 * 8 * 4 * 16 * 2


def test_findings(reported):
    report, status = reported("check", "whole", "padded")
    assert (report["findings"], status) == ([], 0)
    report, status = reported("check", "none_before", "none_after")
    assert status == 1

    def told(kernel: str) -> set[tuple]:
        return {
            (finding["kind"], finding["space"], finding["what"], finding["variable"][-1],
             *((finding[who]["does"], finding[who]["line"]) for who in ("first", "second")))
            for finding in report["findings"] if finding["kernel"] == kernel
        }  # fmt: skip

    for kernel in "none_before", "none_after":
        assert "race" in {kind for kind, *_ in told(kernel)}
        assert told(kernel) == told(kernel + "_apart")


def test_addresses_far_apart(reported):
    """A pattern whose last product lies farther from its first than a 32-bit number reaches."""
    report, _ = reported("check", "far")
    assert [finding["kind"] for finding in report["findings"]] == ["out-of-bounds"]
