"""Floats of eight, six and four bits: NVIDIA's headers compiled to instructions, against what they do without them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pycuda.driver as cuda
import pytest

from softcuda import _toolkit

SOURCE = r"""
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
extern "C" __global__ void convert(const float *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i], y = in[(7 * i + 3) % n];
    unsigned *o = out + 24 * i;
    __nv_bfloat16_raw b = __float2bfloat16(x);
    *o++ = __nv_fp8_e4m3(x).__x;
    *o++ = __nv_fp8_e5m2(x).__x;
    *o++ = __nv_fp8x2_e4m3(make_float2(x, y)).__x;
    *o++ = __nv_fp8x4_e5m2(make_float4(x, y, -x, 2 * y)).__x;
    *o++ = __nv_fp8_e8m0(x).__x;
    *o++ = __nv_fp6_e2m3(x).__x;
    *o++ = __nv_fp6_e3m2(x).__x;
    *o++ = __nv_fp6x2_e3m2(make_float2(x, y)).__x;
    *o++ = __nv_fp6x4_e2m3(make_float4(x, y, -y, -x)).__x;
    *o++ = __nv_fp4_e2m1(x).__x;
    *o++ = __nv_fp4x2_e2m1(make_float2(x, y)).__x;
    *o++ = __nv_fp4x4_e2m1(make_float4(x, y, -y, -x)).__x;
    *o++ = __float_as_uint(float(__nv_fp8_e4m3(x)));
    *o++ = __float_as_uint(float(__nv_fp8_e5m2(x)));
    *o++ = __float_as_uint(float(__nv_fp6_e2m3(x)));
    *o++ = __float_as_uint(float(__nv_fp6_e3m2(x)));
    *o++ = __float_as_uint(float(__nv_fp4_e2m1(x)));
    *o++ = __float_as_uint(float(__nv_fp8_e8m0(x)));
    *o++ = __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf);
    *o++ = __nv_cvt_float_to_e8m0(x, __NV_NOSAT, cudaRoundZero);
    *o++ = __nv_cvt_bfloat16raw_to_e8m0(b, __NV_SATFINITE, cudaRoundPosInf);
    *o++ = __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3);
    *o++ = __nv_cvt_halfraw_to_fp8(__float2half(x), __NV_SATFINITE, __NV_E4M3);
    *o++ = __nv_cvt_bfloat16raw_to_fp8(b, __NV_SATFINITE, __NV_E5M2);
}
"""


def converted(folder: Path, arch: str, values: np.ndarray) -> tuple[np.ndarray, set[str]]:
    """The kernel's results, and the formats that its instructions name.

    softcuda has no device of these newer targets; but it decodes their instructions, whatever target the PTX states.
    """
    toolkit = _toolkit.nvidia()
    (folder / "convert.cu").write_text(SOURCE)
    nvcc, include = toolkit / "bin" / "nvcc", toolkit / "include" / "cccl"
    command = [nvcc, f"-arch={arch}", "-ptx", "-std=c++17", f"-I{include}", "convert.cu", "-o", "convert.ptx"]
    subprocess.run(command, cwd=folder, check=True)
    ptx = (folder / "convert.ptx").read_text()
    module = cuda.module_from_buffer(re.sub(r"\.target sm_\w+", ".target sm_90", ptx).encode() + b"\0")
    results = np.full((len(values), 24), 0xBAD, np.uint32)
    grid = (-(-len(values) // 128), 1)
    kernel = module.get_function("convert")
    kernel(cuda.In(values), cuda.InOut(results), np.int32(len(values)), block=(128, 1, 1), grid=grid)
    return results, set(re.findall(r"u?e\dm\d", ptx))


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    random = np.random.default_rng(1)
    anything = random.integers(0, 2**32, 3000, dtype=np.uint32).view(np.float32)
    usual = random.standard_normal(3000) * np.exp2(random.integers(-12, 12, 3000))
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 465, 57344, 61440, 6, 5, 7, 7.5, 28, 30, 2**-4, 2**-9, 1e-40]
    return np.concatenate([anything, usual, edges]).astype(np.float32)


def test_instructions_and_plain_integers_agree(context, tmp_path, values):
    plain, formats = converted(tmp_path, "sm_90", values)
    assert formats == {"e4m3", "e5m2"}, "the others are made of integer instructions there"
    assert not np.any(plain == 0xBAD)
    for arch, expected in (("sm_100", formats), ("sm_120a", formats | {"e2m1", "e2m3", "e3m2", "ue8m0"})):
        results, found = converted(tmp_path, arch, values)
        assert found == expected
        assert np.array_equal(results, plain), (arch, np.argwhere(results != plain)[:5])


def test_the_plain_results_are_the_nearest(context, tmp_path, values):
    """One column against NumPy alone: e2m1 has eight magnitudes."""
    plain, _ = converted(tmp_path, "sm_90", values)
    magnitudes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    finite = ~np.isnan(values)
    with np.errstate(over="ignore"):
        distance = np.abs(np.minimum(np.abs(values[finite, None].astype(float)), 6) - magnitudes)
    got = plain[finite, 9]
    assert np.array_equal(distance[np.arange(len(got)), got & 7], distance.min(1))
    assert np.array_equal(got >> 3, np.signbit(values[finite]))
