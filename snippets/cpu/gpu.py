"""The order of addresses on a GPU: threads that walk along rows, as cores do, and threads that walk down columns.

python gpu.py             check; on a GPU also time 16384 x 16384 words, 1 GiB
python gpu.py --profile   launch each kernel once for a profiler
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

PART, BLOCK = 64, 256


class Matrix:
    """Random words on the device, and what the partial sums along rows and down columns must be."""

    def __init__(self, rng: np.random.Generator, height: int, width: int) -> None:
        self.shape = height, width
        x = rng.integers(0, 2**32, (height, width), dtype=np.uint32)
        self.x = cuda.to_device(x)
        self.want = {"along_rows": np.add.reduceat(x, range(0, width, PART), axis=1, dtype=np.uint32).T,
                     "down_columns": np.add.reduceat(x, range(0, height, PART), axis=0, dtype=np.uint32)}  # fmt: skip
        self.sums = {name: cuda.mem_alloc(want.nbytes) for name, want in self.want.items()}

    def launch(self, name: str) -> None:
        parts, threads = self.want[name].shape
        grid = (-(-threads // BLOCK), parts, 1)
        KERNELS[name](self.x, self.sums[name], *map(np.int32, self.shape), block=(BLOCK, 1, 1), grid=grid)

    def poison(self, name: str) -> None:
        cuda.memset_d32(self.sums[name], 0xDEADBEEF, self.want[name].size)

    def check(self, name: str) -> None:
        got = np.empty(self.want[name].shape, np.uint32)
        cuda.memcpy_dtoh(got, self.sums[name])
        wb.check(got, np.ascontiguousarray(self.want[name]), what=name)

    def try_all(self) -> None:
        for name in KERNELS:
            self.poison(name)
            self.launch(name)
            self.check(name)


module = wb.module("cpu/gpu.cu")
KERNELS = {name: module.get_function(name) for name in ("along_rows", "down_columns")}

if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        side = 16384 if wb.is_gpu() else 512
        Matrix(generator, side, side).try_all()
        print(f"{' and '.join(KERNELS)}: right at {side} x {side}")
    else:
        for size in ((1, 1), (67, 131), (300, 65), (64, 512)):
            Matrix(generator, *size).try_all()
            print("{} x {}: both kernels right".format(*size))
        if wb.is_gpu():
            wb.needs(memory=3 * 2**30)
            large = Matrix(generator, 16384, 16384)
            for name in KERNELS:
                t = wb.time(
                    lambda i, name=name: large.launch(name),
                    poison=lambda i, name=name: large.poison(name),
                    check=lambda i, name=name: large.check(name),
                )
                wb.timing(name, t, nbytes=4 * 16384 * 16384)
                print(f"{name:14}{t.median * 1e3:8.3f} ms {4 * 16384**2 / t.median / 1e9:8.0f} GB/s")
        else:
            print("no GPU: nothing is timed")
