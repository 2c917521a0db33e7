"""Sum integers in loops that are unrolled 1 to 16 times, by a pragma or by the compiler: exact, then timed on a GPU.

python sums.py             check; on a GPU also time 2^28 integers
python sums.py --profile   launch each kernel once for a profiler
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK = 256
STRIDED = (
    "sum_1",
    "sum_2",
    "sum_4",
    "sum_8",
    "sum_plain",
    "sum_unsigned",
    "sum_unsigned_4",
    "tree_run_time",
    "tree_template",
)
EACH = {"sum_one": 1, "sum_eight": 8}  # numbers per thread, in as many blocks as that takes

module = wb.module("unrolling/sums.cu")
kernels = {name: module.get_function(name) for name in (*STRIDED, *EACH)}
sms = cuda.Context.get_device().multiprocessor_count


def grid_of(name: str, n: int) -> int:
    """Eight blocks per SM, which is all that fit, or one for every BLOCK (or 8 BLOCK) numbers."""
    return 8 * sms if name in STRIDED else -(-n // (BLOCK * EACH[name]))


class Sum:
    """Partial sums of `data` by one kernel; two copies of the data take turns."""

    def __init__(self, values: np.ndarray, copies: int = 1) -> None:
        self.n = values.size
        self.want = int(values.sum(dtype=np.int64))
        self.buffers = [cuda.to_device(values) for _ in range(copies)]
        self.partial = np.empty(max(grid_of(name, self.n) for name in kernels), np.int32)
        self.device_partial = cuda.mem_alloc(self.partial.nbytes)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.device_partial, 0x55555555, self.partial.size)

    def launch(self, name: str, i: int = 0) -> None:
        arguments = self.buffers[i % len(self.buffers)], self.device_partial, np.int32(self.n)
        shared = 4 * BLOCK if name.startswith("tree") else 0
        kernels[name](*arguments, block=(BLOCK, 1, 1), grid=(grid_of(name, self.n), 1), shared=shared)

    def check(self, name: str) -> None:
        cuda.memcpy_dtoh(self.partial, self.device_partial)
        got = int(self.partial[: grid_of(name, self.n)].sum(dtype=np.int64))
        wb.check(got, self.want, what=f"{name} of {self.n}")


def check_all(rng: np.random.Generator) -> None:
    for n in (1, 255, 2049, 100_003, 8 * sms * BLOCK * 3 + 17):
        one = Sum(rng.integers(-1000, 1000, n, dtype=np.int32))
        for name in kernels:
            one.poison()
            one.launch(name)
            one.check(name)
    print(f"{len(kernels)} kernels sum 1 to {8 * sms * BLOCK * 3 + 17} integers exactly")


def measure(rng: np.random.Generator, n: int) -> None:
    one = Sum(rng.integers(-1000, 1000, n, dtype=np.int32), copies=2)
    source, target = (cuda.mem_alloc(4 * n) for _ in range(2))
    t = wb.time(lambda _: cuda.memcpy_dtod_async(target, source, 4 * n))
    wb.timing("copy", t, nbytes=8 * n)
    print(f"copy          {8 * n / t.median / 1e12:6.2f} TB/s")
    for name in kernels:

        def check(_: int, name: str = name) -> None:
            one.check(name)

        t = wb.time(lambda i, name=name: one.launch(name, i), poison=one.poison, check=check)
        wb.timing(name, t, nbytes=4 * n)
        print(f"{name:14}{4 * n / t.median / 1e12:6.2f} TB/s, {t.median * 1e3:.3f} ms")


def profile(rng: np.random.Generator) -> None:
    one = Sum(rng.integers(-1000, 1000, 2**28 if wb.is_gpu() else 2**19, dtype=np.int32))
    for name in kernels:
        one.poison()
        one.launch(name)
        one.check(name)
        print(f"{name}: exact")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator)
    else:
        check_all(generator)
        if wb.is_gpu():
            wb.needs(memory=5 * 2**30)
            measure(generator, 2**28)
        else:
            print("no GPU: nothing is timed")
