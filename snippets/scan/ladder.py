"""Climb the ladder of prefix sums: check every rung, then time it beside a copy and torch.cumsum.

python ladder.py             check; on a GPU also time 2^28 numbers
python ladder.py --profile   launch each rung once for a profiler: 2^26 floats (softcuda: 2^18)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _scan import BEST, BLOCK, DEALT, EXCLUSIVE, RUNGS, Problem, Rung, Scanner, check


class Large:
    """Two arrays in turn, so that none is in the L2, of whole numbers so small that every sum is exact in float.

    The sum of any stretch of 2^28 numbers between -100 and 100 stays far below 2^24: it is a random walk whose
    standard deviation is at most 2^14 * 58.
    """

    def __init__(self, rng: np.random.Generator, dtype: type, n: int) -> None:
        self.n, self.dtype = n, np.dtype(dtype)
        self.data, self.want = [], []
        for _ in range(2):
            values = rng.integers(-100, 101, n, np.int32)
            sums = np.cumsum(values, dtype=np.int32)
            if np.ptp(sums) >= 2**24:
                raise RuntimeError("the sums are too large to be exact: draw other numbers")
            self.data.append(cuda.to_device(values.astype(dtype)))
            self.want.append(sums.astype(dtype))
        self.out = cuda.mem_alloc(4 * n)
        self.result = np.empty(n, dtype)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, self.n)

    def check(self, i: int, what: str) -> None:
        cuda.memcpy_dtoh(self.result, self.out)
        self.compare(self.result, self.want[i % 2], what)

    def compare(self, got: np.ndarray, want: np.ndarray, what: str) -> None:
        if not np.array_equal(got, want):  # false of NaN; without the memory that wb.check needs
            raise AssertionError(f"{what}: wrong in {np.count_nonzero(~(got == want))} of {self.n} places")


def check_all(rng: np.random.Generator, sizes: list[int]) -> None:
    rungs = [*RUNGS, DEALT, EXCLUSIVE]
    for dtype in (np.float32, np.int32):
        scanner = Scanner(dtype, max(sizes))
        for n in sizes:
            check(scanner, Problem(rng, dtype, n), rungs)
            how = "within the bound" if dtype is np.float32 else "exact"
            print(f"{np.dtype(dtype).name:8} n = {n:>10,}  {len(rungs)} kernels, {how}")


def time_copy(scanner: Scanner, large: Large) -> wb.Timing:
    """The faster of a copy kernel and the driver's copy."""
    n, kernel = large.n, scanner.kernel("copy")

    def by_kernel(i: int) -> None:
        kernel(large.data[i % 2], large.out, np.int64(n), block=(BLOCK, 1, 1), grid=(-(-n // (16 * BLOCK)), 1))

    def by_driver(i: int) -> None:
        cuda.memcpy_dtod_async(large.out, large.data[i % 2], 4 * n)

    def same(i: int) -> None:
        want = np.empty_like(large.result)
        cuda.memcpy_dtoh(large.result, large.out)
        cuda.memcpy_dtoh(want, large.data[i % 2])
        large.compare(large.result, want, "copy")

    return min((wb.time(by, poison=large.poison, check=same) for by in (by_kernel, by_driver)), key=lambda t: t.median)


def time_rung(scanner: Scanner, rung: Rung, large: Large) -> wb.Timing:
    return wb.time(
        lambda i: scanner.launch(rung, large.data[i % 2], large.out, large.n),
        poison=large.poison,
        check=lambda i: large.check(i, rung.name),
    )


def time_torch(large: Large) -> wb.Timing:
    import torch

    kind = getattr(torch, large.dtype.name)
    data = [torch.as_tensor(Shared(x, large.n, large.dtype), device="cuda") for x in large.data]
    out = torch.as_tensor(Shared(large.out, large.n, large.dtype), device="cuda")
    return wb.time(
        lambda i: torch.cumsum(data[i % 2], 0, dtype=kind, out=out),
        poison=large.poison,
        check=lambda i: large.check(i, "torch.cumsum"),
    )


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: cuda.DeviceAllocation, n: int, dtype: np.dtype) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": (n,), "typestr": dtype.str, "data": (int(address), False), "strides": None,
        }  # fmt: skip


def time_all(rng: np.random.Generator, n: int) -> None:
    """Every rung for floats; the best, and torch, for integers as well."""
    times = {}
    for dtype, rungs, tag in ((np.float32, [*RUNGS, DEALT], ""), (np.int32, [BEST], "_int")):
        scanner, large = Scanner(dtype, n), Large(rng, dtype, n)
        if not tag:
            times["copy"] = time_copy(scanner, large)
        for rung in rungs:
            times[rung.name + tag] = time_rung(scanner, rung, large)
        times["torch" + tag] = time_torch(large)
        for buffer in (*large.data, large.out):
            buffer.free()
    print(f"\n{n:,} numbers\n{'':10}{'µs':>9}{'10 %':>9}{'90 %':>9}{'GB/s':>9}{'of copy':>9}")
    for name, t in times.items():
        wb.timing(name, t, 8 * n)  # each number is read once and written once, whatever else a rung moves
        of_copy = times["copy"].median / t.median
        print(f"{name:10}{t.median * 1e6:9.1f}{t.low * 1e6:9.1f}{t.high * 1e6:9.1f}"
              f"{8 * n / t.median / 1e9:9.0f}{of_copy:9.1%}")  # fmt: skip


def profile(rng: np.random.Generator, n: int) -> None:
    scanner, problem = Scanner(np.float32, n), Problem(rng, np.float32, n)
    for rung in RUNGS:
        check(scanner, problem, [rung])
        print(f"scan_{rung.name} at n = {n}: within its bound")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator, 2**26 if wb.is_gpu() else 2**18)
    else:
        print(f"device: {wb.device()['name']}, {wb.device()['multiprocessors']} multiprocessors")
        check_all(generator, [1, 31, 1023, 4096, 2**17 + 7] + ([2**24 + 3] if wb.is_gpu() else []))
        if wb.is_gpu():
            wb.needs(memory=4 * 2**30)
            time_all(generator, 2**28)
        else:
            print("no GPU: nothing is timed")
