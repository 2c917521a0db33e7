# ruff: noqa: E501  (CUDA C++ in strings, and tables)
"""Threads of a block and blocks of a grid that work together."""

from __future__ import annotations

import ctypes

import numpy as np
import pycuda.driver as cuda
import pytest
from pycuda.compiler import compile as compile_image

from softcuda import _toolkit


def test_counted_barriers(compile) -> None:
    kernel = compile(
        """
        extern "C" __global__ void counted(int *out)
        {
            int i = threadIdx.x;
            out[3 * i] = __syncthreads_count(i % 3 == 0);
            out[3 * i + 1] = __syncthreads_and(i >= 0) + 2 * __syncthreads_and(i != 77);
            out[3 * i + 2] = __syncthreads_or(i == 77) + 2 * __syncthreads_or(i < 0);
        }
        """
    ).get_function("counted")
    out = np.zeros((100, 3), np.int32)  # the last warp has 4 threads
    kernel(cuda.Out(out), block=(100, 1, 1))
    assert (out == [34, 1, 1]).all()


def test_named_barriers(compile) -> None:
    """Warps 1 to 3 produce and only arrive; warp 0 waits for them; barrier 2 is the other three's own."""
    kernel = compile(
        """
        extern "C" __global__ void named(int *out)
        {
            __shared__ int s[128];
            int i = threadIdx.x;
            if (i >= 32) {
                s[i] = i;
                asm volatile("bar.sync 2, 96;" ::: "memory");
                int other = s[32 + (i - 32 + 33) % 96];
                asm volatile("bar.sync 2, 96;" ::: "memory");
                s[i] = 1000 * i + other;
                __threadfence_block();
                asm volatile("bar.arrive 1, 128;" ::: "memory");
            } else {
                asm volatile("bar.sync 1, 128;" ::: "memory");
                out[i] = s[32 + i] + s[64 + i] + s[96 + i];
            }
        }
        """
    ).get_function("named")
    out = np.zeros(32, np.int32)
    kernel(cuda.Out(out), block=(128, 1, 1))
    i = np.arange(32, 128)
    made = (1000 * i + 32 + (i - 32 + 33) % 96).reshape(3, 32)
    assert (out == made.sum(0)).all()


@pytest.mark.parametrize("kilobytes", [16, 64, 200])
def test_dynamic_shared_memory(compile, kilobytes: int) -> None:
    kernel = compile(
        """
        extern __shared__ double s[];
        extern "C" __global__ void reverse(double *a, int n)
        {
            for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = a[i];
            __syncthreads();
            for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = s[n - 1 - i];
        }
        """
    ).get_function("reverse")
    a = np.random.rand(kilobytes * 128)
    expected = a[::-1].copy()
    if kilobytes > 48:
        kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, kilobytes << 10)
    kernel(cuda.InOut(a), np.int32(a.size), block=(160, 1, 1), shared=kilobytes << 10)
    np.testing.assert_array_equal(a, expected)


def test_the_last_block_adds_up(compile) -> None:
    module = compile(
        """
        __device__ unsigned finished;
        extern "C" __global__ void total(const float *a, int n, volatile double *parts, double *sum)
        {
            __shared__ double s[128];
            __shared__ bool last;
            double mine = 0;
            for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) mine += a[i];
            s[threadIdx.x] = mine;
            for (int half = 64; half; half /= 2) { __syncthreads(); if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half]; }
            if (threadIdx.x == 0) {
                parts[blockIdx.x] = s[0];
                __threadfence();
                last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
            }
            __syncthreads();
            if (last && threadIdx.x == 0) { double t = 0; for (int b = 0; b < gridDim.x; b++) t += parts[b]; *sum = t; }
        }
        """
    )
    a, sums = np.random.rand(100_003).astype(np.float32), []
    parts = cuda.mem_alloc(8 * 37)
    for _ in range(3):
        result = np.full(1, np.nan)
        module.get_function("total")(
            cuda.In(a), np.int32(a.size), parts, cuda.Out(result), block=(128, 1, 1), grid=(37, 1)
        )
        sums.append(result[0])
    np.testing.assert_allclose(sums[0], a.astype(np.float64).sum(), rtol=1e-13)
    assert sums[0] == sums[1] == sums[2]


def test_a_block_waits_for_a_later_one(compile) -> None:
    """Blocks that fit on the device together are resident together: each takes a number from the next."""
    kernel = compile(
        """
        extern "C" __global__ void chain(volatile int *flag, int *out)
        {
            int b = blockIdx.x;
            if (b + 1 < gridDim.x) while (flag[b + 1] == 0) {}
            __threadfence();
            out[b] = b + 1 < gridDim.x ? out[b + 1] + 1 : 0;
            __threadfence();
            flag[b] = 1;
        }
        """
    ).get_function("chain")
    out = np.full(40, -1, np.int32)
    flag = np.zeros(40, np.int32)
    kernel(cuda.InOut(flag), cuda.InOut(out), block=(1, 1, 1), grid=(40, 1))
    assert out.tolist() == list(range(39, -1, -1))


COOPERATIVE = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void tiles(const int *a, int *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int i = block.thread_rank(), sum = a[i];
    for (int d = tile.size() / 2; d; d /= 2) sum += tile.shfl_down(sum, d);
    out[i] = tile.shfl(sum, 0);
    out[i + 64] = cg::reduce(tile, a[i], cg::greater<int>());
    if (a[i] % 3 == 0) {
        auto some = cg::coalesced_threads();
        out[i + 128] = some.size() * 100 + some.thread_rank();
        out[i + 192] = some.shfl(a[i], 0);
    }
    tile.sync();
    auto parts = cg::tiled_partition<4>(tile);
    out[i + 256] = parts.meta_group_rank() * 10 + parts.thread_rank();
    out[i + 320] = tile.ballot(a[i] & 1);
}
extern "C" __global__ void steps(int *a, int n)
{
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank();
    for (int step = 0; step < 5; step++) {
        int next = a[(i + 1) % n] + 1;
        grid.sync();
        a[i] = next;
        grid.sync();
    }
}
"""


def test_cooperative_groups(compile) -> None:
    kernel = compile(COOPERATIVE).get_function("tiles")
    a = np.random.randint(0, 1000, 64).astype(np.int32)
    out = np.full((6, 64), -1, np.int32)
    kernel(cuda.In(a), cuda.InOut(out), block=(64, 1, 1))
    eights = a.reshape(8, 8)
    assert (out[0] == np.repeat(eights.sum(1), 8)).all()
    assert (out[1] == np.repeat(eights.max(1), 8)).all()
    for warp in range(2):
        lanes = slice(32 * warp, 32 * warp + 32)
        some = np.flatnonzero(a[lanes] % 3 == 0) + 32 * warp
        assert (out[2, some] == len(some) * 100 + np.arange(len(some))).all()
        assert (out[3, some] == (a[some[0]] if len(some) else 0)).all()
    assert (out[4] == np.tile([0, 1, 2, 3, 10, 11, 12, 13], 8)).all()
    assert (out[5] == np.repeat((eights & 1) @ (1 << np.arange(8)), 8)).all()


def test_grid_sync(context, raw: ctypes.CDLL) -> None:
    """PyCUDA launches nothing cooperatively; the driver's own functions do."""
    toolkit = _toolkit.nvidia()
    image = compile_image(COOPERATIVE, no_extern_c=True, include_dirs=[str(toolkit / "include" / "cccl")])
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    assert raw.cuModuleLoadData(ctypes.byref(module), image + b"\0") == 0
    assert raw.cuModuleGetFunction(ctypes.byref(function), module, b"steps") == 0
    n = 8 * 48
    a = np.random.randint(0, 1000, n).astype(np.int32)
    on_device = cuda.to_device(a)
    pointer, count = ctypes.c_void_p(int(on_device)), ctypes.c_int(n)
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(pointer), ctypes.addressof(count))
    assert raw.cuLaunchCooperativeKernel(function, 8, 1, 1, 48, 1, 1, 0, None, arguments) == 0
    cuda.Context.synchronize()
    got = np.empty_like(a)
    cuda.memcpy_dtoh(got, on_device)
    assert (got == np.roll(a, -5) + 5).all()
    too_many = 132 * 32 + 1
    assert raw.cuLaunchCooperativeKernel(function, too_many, 1, 1, 1024, 1, 1, 0, None, arguments) == 720
    assert raw.cuModuleUnload(module) == 0


def test_a_multiprocessor_that_is_busy_takes_no_other_block(compile) -> None:
    """While block 0 waits for 300 others to end, its multiprocessor is its own: %smid names another for block 132."""
    kernel = compile(
        """
        extern "C" __global__ void crowd(int *busy, int *met, volatile int *ended)
        {
            unsigned sm;
            asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
            if (atomicAdd(&busy[sm], 1)) atomicAdd(met, 1);
            if (blockIdx.x == 0) while (*ended < 300) {}
            __threadfence();
            atomicSub(&busy[sm], 1);
            __threadfence();
            atomicAdd((int*)ended, 1);
        }
        """
    ).get_function("crowd")
    sms = cuda.Context.get_device().multiprocessor_count
    busy, met, ended = np.zeros(sms, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    kernel(cuda.InOut(busy), cuda.InOut(met), cuda.InOut(ended), block=(1, 1, 1), grid=(400, 1))
    assert ended[0] == 400 and met[0] == 0 and not busy.any()


def test_dynamic_shared_memory_is_aligned_as_declared(compile):
    """Behind static variables of any size; a kernel that declares no alignment gets 16 bytes."""
    source = r"""
    extern __shared__ __align__(1024) unsigned char wide[];
    extern "C" __global__ void aligned(unsigned *out, int n) {
        __shared__ unsigned own[18];
        own[threadIdx.x % 18] = n;
        wide[threadIdx.x] = (unsigned char)threadIdx.x;
        __syncthreads();
        out[threadIdx.x] = own[5] + (unsigned)__cvta_generic_to_shared(wide) % 1024 + wide[255 - threadIdx.x];
    }
    """
    got = np.zeros(256, np.uint32)
    compile(source).get_function("aligned")(cuda.Out(got), np.int32(7000), block=(256, 1, 1), shared=256)
    np.testing.assert_array_equal(got, 7000 + 255 - np.arange(256))
