"""The same program twice, and with another number of worker threads, leaves the same bits; a seed shuffles."""

from __future__ import annotations

PROGRAM = r'''
import hashlib, numpy as np, pycuda.autoinit, pycuda.driver as cuda
from pycuda.compiler import SourceModule
kernel = SourceModule("""
extern "C" __global__ void sums(const float *a, float *total, float *order, int n)
{
    __shared__ float s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&s, a[i]);                       // the order decides the last bits
        if (i % 3 == 0) s = s * 0.999f;
    }
    __syncthreads();
    if (threadIdx.x == 0) order[blockIdx.x] = s;
    if (threadIdx.x % 5 == 0) atomicAdd(total, sinf(s + threadIdx.x));
}
""", no_extern_c=True).get_function("sums")
a = np.random.default_rng(5).standard_normal(50_000).astype(np.float32)
total, order = np.zeros(1, np.float32), np.zeros(31, np.float32)
kernel(cuda.In(a), cuda.InOut(total), cuda.InOut(order), np.int32(a.size), block=(160, 1, 1), grid=(31, 1))
print(hashlib.sha256(order.tobytes()).hexdigest(), hashlib.sha256(total.tobytes()).hexdigest())
'''


def test_same_bits_every_time(program) -> None:
    runs = [program(PROGRAM, SOFTCUDA_THREADS=threads) for threads in ("1", "2", "4", "4")]
    assert all(run.returncode == 0 for run in runs), runs[0].stderr
    within_blocks = {run.stdout.split()[0] for run in runs}
    assert len(within_blocks) == 1
    across_blocks = {run.stdout.split()[1] for run in runs}
    assert len(across_blocks) == 1, "atomics of different blocks on one float came in another order"


ORDER = r'''
import numpy as np, pycuda.autoinit, pycuda.driver as cuda
from pycuda.compiler import SourceModule
kernel = SourceModule("""
__global__ void come(int *count, int *order)
{
    if (threadIdx.x % 32 == 0) order[atomicAdd(count, 1)] = blockIdx.x * 8 + threadIdx.x / 32;
}
""").get_function("come")
count, order = np.zeros(1, np.int32), np.full(128, -1, np.int32)
kernel(cuda.InOut(count), cuda.InOut(order), block=(256, 1, 1), grid=(16, 1))
assert sorted(order) == list(range(128))
print(*order)
'''


def test_a_seed_shuffles_warps_and_blocks(program) -> None:
    runs = [program(ORDER, SOFTCUDA_SEED=seed) for seed in ("0", "1", "1", "2")]
    assert all(run.returncode == 0 for run in runs), runs[0].stderr
    in_order, first, again, second = (run.stdout.split() for run in runs)
    assert in_order == [str(i) for i in range(128)]
    assert first == again, "a seed names one order"
    assert len({tuple(order) for order in (in_order, first, second)}) == 3
    blocks = [int(who) // 8 for who in first]
    assert blocks != sorted(blocks)
