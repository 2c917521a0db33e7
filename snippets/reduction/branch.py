"""Does it pay to let whole warps rest? v0 and v1 with loops that stay loops, so that a warp can jump over its work.

python branch.py             check both against the same tree in NumPy; on a GPU also time 2^28 floats
python branch.py --profile   launch each once for a profiler, on 2^26 floats (softcuda: 2^20)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK = 256
module = wb.module("reduction/branch.cu")
KERNELS = {name: module.get_function(name) for name in ("rolled_v0", "rolled_v1")}


def launch(name: str, data: cuda.DeviceAllocation, out: cuda.DeviceAllocation, n: int) -> None:
    KERNELS[name](data, out, np.int64(n), block=(BLOCK, 1, 1), grid=(-(-n // BLOCK), 1))


def tiles(values: np.ndarray) -> np.ndarray:
    """The sum of each tile of 256, neighbours first: the same additions as the kernels', so the same bits."""
    level = np.pad(values, (0, -values.size % BLOCK))
    for _ in range(8):
        level = level[0::2] + level[1::2]
    return level


def check(name: str, out: cuda.DeviceAllocation, want: np.ndarray) -> None:
    got = np.empty_like(want)
    cuda.memcpy_dtoh(got, out)
    wb.check(got, want, what=f"{name}, by tile")


def once(n: int) -> None:
    values = np.random.default_rng(n).random(n, dtype=np.float32)
    want = tiles(values)
    data, out = cuda.mem_alloc(4 * n), cuda.mem_alloc(want.nbytes)
    for name in KERNELS:
        cuda.memcpy_htod(data, values)
        cuda.memset_d32(out, 0xFFFFFFFF, want.size)
        launch(name, data, out, n)
        check(name, out, want)
        print(f"{name} at n = {n:,}: {want.size:,} tiles, every bit as in NumPy")


def timed(n: int) -> None:
    """As ladder.py times v0 and v1, but the first launch alone: it is 255 parts of 256 of the work."""
    values = np.random.default_rng(5).random(n, dtype=np.float32)
    want, pristine = tiles(values), cuda.to_device(values)
    buffers, out = [cuda.mem_alloc(4 * n) for _ in range(2)], cuda.mem_alloc(want.nbytes)

    def prepare(i: int) -> None:
        cuda.memset_d32_async(out, 0xFFFFFFFF, want.size)
        cuda.memcpy_dtod_async(buffers[i % 2], pristine, 4 * n)  # the kernels overwrite their input

    for name in KERNELS:
        t = wb.time(
            lambda i, name=name: launch(name, buffers[i % 2], out, n),
            poison=prepare,
            check=lambda i, name=name: check(name, out, want),
        )
        wb.timing(name, t, 4 * n)
        print(f"{name}: {t.median * 1e6:.1f} µs ({t.low * 1e6:.1f} µs to {t.high * 1e6:.1f} µs)")


if __name__ == "__main__":
    if "--profile" in sys.argv[1:]:
        once(2**26 if wb.is_gpu() else 2**20)
    else:
        for size in (1, 31, 1023, 2**16 + 7):
            once(size)
        if wb.is_gpu():
            timed(2**28)
