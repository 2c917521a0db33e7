"""Find the launch shape of the last rung: block size, loads in flight, blocks an SM, access pattern, cache hint.

python sweep.py   check each variant, time it (on a GPU), print the best of each pattern and hint
"""

import itertools

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

UNROLLS, PATTERNS, HINTS = (1, 2, 4, 8), ("tiles", "grids", "chunks"), ("plain", "streaming", "no_l1", "no_l1_256")
GPU = wb.is_gpu()
BLOCK_SIZES = (128, 256, 512, 1024) if GPU else (256,)
WARPS_PER_SM = (16, 32, 48, 64, 128, 256, 512, 1024) if GPU else (16,)  # past 64 they queue for a place
N = 2**28 if GPU else 2**16

kernels = "".join(
    f'extern "C" __global__ void sweep_{u}_{p}_{h}'
    "(const float* data, float* partial, unsigned* arrived, float* out, Index n) {"
    f" sweep<{u}, {PATTERNS.index(p)}, {HINTS.index(h)}>(data, partial, arrived, out, n); }}\n"
    for u, p, h in itertools.product(UNROLLS, PATTERNS, HINTS)
)
module = wb.module("reduction/sweep.cu", append=kernels)
sms = cuda.Context.get_device().multiprocessor_count

values = np.random.default_rng(28).random(N, dtype=np.float32)
reference = float(values.sum(dtype=np.float64))  # multiples of 2^-24: no rounding below 2^29
buffers = [cuda.to_device(values) for _ in range(2)]
partial, arrived, out = (cuda.mem_alloc(4 * sms * 1024) for _ in range(3))
cuda.memset_d32(arrived, 0, 1)


def poison(i: int) -> None:
    cuda.memset_d32_async(out, 0xFFFFFFFF, 1)


def check(i: int) -> None:
    got = np.empty(1, np.float32)
    cuda.memcpy_dtoh(got, out)
    wb.check(got[0], reference, 1e-4 * reference, "sum")


results = []
for unroll, pattern, hint in itertools.product(UNROLLS, PATTERNS, HINTS):
    kernel = module.get_function(f"sweep_{unroll}_{pattern}_{hint}")
    for block, warps in itertools.product(BLOCK_SIZES, WARPS_PER_SM):
        blocks_per_sm = warps * 32 // block
        if not blocks_per_sm:
            continue

        def launch(i: int, kernel=kernel, shape=(block, blocks_per_sm)) -> None:
            kernel(buffers[i % 2], partial, arrived, out, np.int64(N), block=(shape[0], 1, 1), grid=(sms * shape[1], 1))

        # On softcuda the check is all that counts; on a GPU a short look at each variant, and a long one at the best.
        t = wb.time(launch, repeats=11 if GPU else 1, warmup=2 if GPU else 0, poison=poison, check=check)
        results.append((t.median, launch, pattern, hint, unroll, block, blocks_per_sm))

print(f"{len(results)} variants agree with float64 at n = {N}")
if GPU:
    results.sort(key=lambda r: r[0])
    wb.timing("sweep.best", wb.time(results[0][1], poison=poison, check=check), 4 * N)
    print(f"{'GB/s':>6}  {'pattern':8}{'hint':12}{'unroll':>7}{'block':>7}{'blocks/SM':>11}")
    best_of = {(p, h): next(r for r in results if r[2:4] == (p, h)) for p, h in itertools.product(PATTERNS, HINTS)}
    for seconds, _, pattern, hint, unroll, block, per_sm in results[:20] + sorted(best_of.values(), key=lambda r: r[0]):
        print(f"{4 * N / seconds / 1e9:6.0f}  {pattern:8}{hint:12}{unroll:7}{block:7}{per_sm:11}")
