"""CPU time of ordinary kernels, to be run plainly and watched: `SOFTCUDA_THREADS=1 python cost.py [kernel ...]`.

Prints a kernel and milliseconds a line, the best of a few launches: run it plain, under `softcuda profile` and under
`softcuda check`, and compare.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pycuda.autoinit  # noqa: F401
import pycuda.driver as cuda
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

SOURCE = r"""
#define T 16
extern "C" {
__global__ void sgemm(const float* A, const float* B, float* C, int n) {
    __shared__ float a[T][T], b[T][T];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, column = blockIdx.x * T + x;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        a[y][x] = A[row * n + k + x];
        b[y][x] = B[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < T; ++j) sum += a[y][j] * b[j][x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}
__global__ void sgemm_plain(const float* A, const float* B, float* C, int n) {
    int column = blockIdx.x * T + threadIdx.x, row = blockIdx.y * T + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += A[row * n + k] * B[k * n + column];
    C[row * n + column] = sum;
}
__global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void reduction(const float* in, float* out, int n) {
    __shared__ float s[256];
    float sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += in[i];
    s[threadIdx.x] = sum;
    __syncthreads();
    for (int d = 128; d; d >>= 1) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
__global__ void histogram(const int* in, int* bins, int n) {
    __shared__ int s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&s[in[i] & 255], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
__global__ void stencil(const float* in, float* out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, i = y * n + x;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}
__global__ void saxpy(const float* x, float* y, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] += 2 * x[i];
}
__global__ void copy_float4(const float4* in, float4* out, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n / 4) out[i] = in[i];
}
__global__ void bytes(const unsigned char* in, unsigned char* out, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) out[i] = 255 - in[i];
}
}
"""
SIDE, MATRIX = 1024, 256
KERNELS = {  # grid, block, n
    "sgemm": ((MATRIX // 16, MATRIX // 16), (16, 16, 1), MATRIX),
    "sgemm_plain": ((MATRIX // 16, MATRIX // 16), (16, 16, 1), MATRIX),
    "transpose": ((SIDE // 32, SIDE // 32), (32, 8, 1), SIDE),
    "reduction": ((64, 1), (256, 1, 1), SIDE * SIDE),
    "histogram": ((64, 1), (256, 1, 1), SIDE * SIDE),
    "stencil": ((SIDE // 32, SIDE // 8), (32, 8, 1), SIDE),
    "saxpy": ((SIDE * SIDE // 256, 1), (256, 1, 1), SIDE * SIDE),
    "copy_float4": ((SIDE * SIDE // 1024, 1), (256, 1, 1), SIDE * SIDE),
    "bytes": ((SIDE * SIDE // 256, 1), (256, 1, 1), SIDE * SIDE),
}


def main(names: list[str]) -> None:
    module = SourceModule(SOURCE, no_extern_c=True)
    random = np.random.default_rng(3)
    in_float, in_int = random.random(SIDE * SIDE, np.float32), random.integers(0, 1000, SIDE * SIDE, np.int32)
    for name in names or KERNELS:
        grid, block, n = KERNELS[name]
        a = gpuarray.to_gpu(in_int if name in ("histogram", "bytes") else in_float)
        b = gpuarray.to_gpu(in_float)
        c = gpuarray.zeros(SIDE * SIDE, np.float32)
        arguments = [a, b, c] if name.startswith("sgemm") else [a, c]
        best = float("inf")
        for _ in range(5):
            begin = time.process_time()
            module.get_function(name)(*arguments, np.int32(n), grid=grid, block=block)
            cuda.Context.synchronize()
            best = min(best, time.process_time() - begin)
        print(name, f"{1e3 * best:.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
