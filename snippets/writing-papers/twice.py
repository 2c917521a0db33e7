"""Writing papers: honest numbers: double every float of an array, one or four per thread.

python twice.py   check both kernels; on a GPU also time them on 2^26 floats, beside a copy
"""

from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK = 256
PER_THREAD = {"v0": 1, "v1": 4}  # floats

module = wb.module("writing-papers/twice.cu")
kernels = {version: module.get_function(f"twice_{version}") for version in PER_THREAD}


def double(version: str, x: Any, y: Any, n: int) -> None:
    """Launch y = 2x on n floats of the device."""
    blocks = -(-n // (BLOCK * PER_THREAD[version]))
    kernels[version](x, y, np.int32(n), block=(BLOCK, 1, 1), grid=(blocks, 1))


def check_all(rng: np.random.Generator) -> None:
    for n in (1, 31, 1000, 2**16 + 3):
        x = rng.standard_normal(n, dtype=np.float32)
        for version in PER_THREAD:
            y = np.full(n, np.nan, np.float32)  # what a kernel does not write will show
            double(version, cuda.In(x), cuda.InOut(y), n)
            wb.check(y, 2 * x, what=f"{version}, n = {n}")
        print(f"n = {n:>6,}: {' and '.join(PER_THREAD)} right")


def measure(rng: np.random.Generator, n: int) -> None:
    x = rng.standard_normal(n, dtype=np.float32)
    source, target = cuda.to_device(x), cuda.mem_alloc(x.nbytes)
    result = np.empty_like(x)

    def poison(_: int) -> None:
        cuda.memset_d32_async(target, 0xFFFFFFFF, n)  # NaN

    def time(launch: Any, want: np.ndarray, what: str) -> wb.Timing:
        def check(_: int) -> None:
            cuda.memcpy_dtoh(result, target)
            wb.check(result, want, what=what)

        return wb.time(launch, poison=poison, check=check)

    times = {"copy": time(lambda _: cuda.memcpy_dtod_async(target, source, x.nbytes), x, "copy")}
    for version in PER_THREAD:
        times[version] = time(lambda _, version=version: double(version, source, target, n), 2 * x, version)
    for name, t in times.items():
        wb.timing(name, t, 2 * x.nbytes)  # read and written
        print(f"{name:5}{t.median * 1e6:9.1f} µs{2 * x.nbytes / t.median / 1e9:8.0f} GB/s")


if __name__ == "__main__":
    generator = np.random.default_rng()
    check_all(generator)
    if wb.is_gpu():
        wb.needs(memory=2**30)
        measure(generator, 2**26)
    else:
        print("no GPU: nothing is timed")
