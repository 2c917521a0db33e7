"""Three ways to finish: a second launch, the block that arrives last, one atomic a block.

python finish.py   how many different results in many runs; on a GPU also the times
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK, PER_SM = 512, 4  # as in ladder.py
GPU = wb.is_gpu()
RUNS = 200 if GPU else 3

module = wb.module("reduction/reduce.cu")
reduce_v7, reduce_v8, reduce_atomic = (module.get_function(f"reduce_{name}") for name in ("v7", "v8", "atomic"))
grid = cuda.Context.get_device().multiprocessor_count * PER_SM
partials, arrived, out = (cuda.mem_alloc(4 * count) for count in (grid, 1, 1))
cuda.memset_d32(arrived, 0, 1)


# --8<-- [start:finishes]
def two_launches(data: cuda.DeviceAllocation, n: int) -> None:
    reduce_v7(data, partials, np.int64(n), block=(BLOCK, 1, 1), grid=(grid, 1))
    reduce_v7(partials, out, np.int64(grid), block=(BLOCK, 1, 1), grid=(1, 1))


def last_block(data: cuda.DeviceAllocation, n: int) -> None:
    reduce_v8(data, partials, arrived, out, np.int64(n), block=(BLOCK, 1, 1), grid=(grid, 1))


def atomic(data: cuda.DeviceAllocation, n: int) -> None:
    cuda.memset_d32_async(out, 0, 1)  # the price of the atomic: somebody must write the zero
    reduce_atomic(data, out, np.int64(n), block=(BLOCK, 1, 1), grid=(grid, 1))


# --8<-- [end:finishes]


def poison(_: int = 0) -> None:
    cuda.memset_d32_async(partials, 0xFFFFFFFF, grid)
    cuda.memset_d32_async(out, 0xFFFFFFFF, 1)


def timed(finish: Callable[..., None], buffers: list, n: int, i: int) -> None:
    finish(buffers[i % 2], n)


rng = np.random.default_rng(7)
for label, n in (("small", 2**20 + 7), *([("large", 2**28)] if GPU else [])):
    values = rng.random(n, dtype=np.float32)
    reference = float(values.sum(dtype=np.float64))
    buffers = [cuda.to_device(values) for _ in range(2)]
    print(f"n = {n:,}: {grid} blocks of {BLOCK} threads")
    for finish in (two_launches, last_block, atomic):
        seen = set()
        for i in range(RUNS if label == "small" else 20):
            poison()
            finish(buffers[i % 2], n)
            got = np.empty(1, np.float32)
            cuda.memcpy_dtoh(got, out)
            # a thread's additions, a block's tree, and at worst all blocks one after another
            bound = (n / (grid * BLOCK) + 16 + grid) * 2.0**-24 * reference
            if not abs(float(got[0]) - reference) <= bound:
                raise AssertionError(f"{finish.__name__} at n = {n}: {got[0]}, not {reference}")
            seen.add(got.tobytes())
        line = f"  {finish.__name__:14}"
        if GPU:
            t = wb.time(partial(timed, finish, buffers, n), poison=poison, repeats=100)
            wb.timing(f"{finish.__name__}.{label}", t, 4 * n)
            line += f"{t.median * 1e6:8.1f} µs ({t.low * 1e6:.1f} µs to {t.high * 1e6:.1f} µs)"
            if label == "small":
                wb.value(f"{finish.__name__}.distinct", len(seen), "count")
                line += f"   {len(seen)} different results in {RUNS} runs this time"
        else:
            line += "within its bound" if finish is atomic else f"{len(seen)} result in {RUNS} runs"
        print(line)
        if finish is not atomic and len(seen) != 1:
            raise AssertionError(f"{finish.__name__} at n = {n}: {len(seen)} different results")
    for buffer in buffers:
        buffer.free()
