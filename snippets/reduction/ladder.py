"""Climb the ladder: check every rung of reduce.cu, then time it against a copy and against torch.sum.

python ladder.py             check; on a GPU also time 2^28 numbers (two buffers of 1 GiB, one more for the copy)
python ladder.py --profile   launch each rung once for a profiler: 2^26 floats, more than the L2 holds (softcuda: 2^20)
"""

import math
import sys
from dataclasses import dataclass

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb

try:
    import torch
except ImportError:
    torch = None

BLOCK = 256  # threads, as in reduce.cu
WIDE_BLOCK, WIDE_PER_SM = 512, 4  # of v7 and v8: within 1 % of the best that sweep.py found on an H200


# --8<-- [start:rungs]
@dataclass(frozen=True)
class Rung:
    name: str
    takes: int = 0  # elements a block takes; 0: the grid is fixed and blocks stride over the input
    in_place: bool = False  # the input is overwritten
    wide: bool = False  # 16-byte loads
    one_launch: bool = False  # finished inside the launch


RUNGS = [
    Rung("v0", BLOCK, in_place=True),
    Rung("v1", BLOCK, in_place=True),
    Rung("v2", BLOCK, in_place=True),
    Rung("v3", BLOCK),
    Rung("v4", 2 * BLOCK),
    Rung("v5", 2 * BLOCK),
    Rung("v6"),
    Rung("v7", wide=True),
    Rung("v8", wide=True, one_launch=True),
]
# --8<-- [end:rungs]


class Reducer:
    """The kernels for one element type, the scratch they need, and how to launch them."""

    def __init__(self, dtype: type, n_max: int) -> None:
        self.dtype = np.dtype(dtype)
        self.module = wb.module("reduction/reduce.cu", ELEMENT={"float32": "float", "int32": "int"}[self.dtype.name])
        self.kernels = {rung.name: self.module.get_function(f"reduce_{rung.name}") for rung in RUNGS}
        self.sms = cuda.Context.get_device().multiprocessor_count
        items = max(self.grid(rung, n_max) for rung in RUNGS)
        self.scratch = [cuda.mem_alloc(4 * items) for _ in range(2)]
        self.arrived = cuda.mem_alloc(4)
        cuda.memset_d32(self.arrived, 0, 1)

    def grid(self, rung: Rung, n: int) -> int:
        """Blocks of the first launch."""
        return -(-n // rung.takes) if rung.takes else self.sms * (WIDE_PER_SM if rung.wide else 2048 // BLOCK)

    def poison(self, rung: Rung, n: int) -> None:
        """All partial sums become NaN, or -1."""
        for buffer in self.scratch:
            cuda.memset_d32_async(buffer, 0xFFFFFFFF, self.grid(rung, n))

    # --8<-- [start:launch]
    def launch(self, rung: Rung, data: cuda.DeviceAllocation, n: int) -> cuda.DeviceAllocation:
        """Enqueue the whole reduction; return where its result will be."""
        kernel = self.kernels[rung.name]
        block = WIDE_BLOCK if rung.wide else BLOCK
        blocks = self.grid(rung, n)
        source, target, spare = data, *self.scratch
        if rung.one_launch:
            kernel(source, target, self.arrived, spare, np.int64(n), block=(block, 1, 1), grid=(blocks, 1))
            return spare
        while True:
            kernel(source, target, np.int64(n), block=(block, 1, 1), grid=(blocks, 1))
            if blocks == 1:
                return target
            n, blocks = blocks, -(-blocks // rung.takes) if rung.takes else 1
            source, target, spare = target, spare, target

    # --8<-- [end:launch]

    def depth(self, rung: Rung, n: int) -> int:
        """The most additions that one element passes through."""
        if rung.takes:
            levels = int(math.log2(rung.takes))
            passes = 1
            while (n := -(-n // rung.takes)) > 1:
                passes += 1
            return levels * passes
        block, grid = WIDE_BLOCK if rung.wide else BLOCK, self.grid(rung, n)
        chain = -(-n // (grid * block)) + (6 if rung.wide else 0)  # a thread's elements one after another
        return chain + 10 + -(-grid // block) + 10 + 2  # block tree, partials, block tree, odd elements


def fresh(rng: np.random.Generator, dtype: type, n: int) -> np.ndarray:
    """Uniform in [0, 1) for floats; in [-1000, 1000) for integers, whose sums then stay far inside 32 bits."""
    if dtype is np.float32:
        return rng.random(n, dtype=np.float32)
    return rng.integers(-1000, 1000, n, dtype=np.int32)


def exact(values: np.ndarray) -> float:
    """The sum without error: in int64 for integers, rounded once for floats.

    Floats from `fresh` are multiples of 2^-24 below 1, so a float64 holds the sum of 2^20 of them exactly.
    """
    if values.dtype == np.int32:
        return int(values.sum(dtype=np.int64))
    parts = np.array_split(values, -(-values.size // 2**20))
    return math.fsum(float(part.sum(dtype=np.float64)) for part in parts)


def download(address: cuda.DeviceAllocation, dtype: np.dtype) -> np.generic:
    out = np.empty(1, dtype)
    cuda.memcpy_dtoh(out, address)
    return out[0]


def check(reducer: Reducer, rung: Rung, n: int, data: cuda.DeviceAllocation, reference: float) -> tuple[float, float]:
    """Run once on poisoned scratch; return error and bound."""
    reducer.poison(rung, n)
    return compare(reducer, rung, n, reducer.launch(rung, data, n), reference)


def compare(
    reducer: Reducer, rung: Rung, n: int, result: cuda.DeviceAllocation, reference: float
) -> tuple[float, float]:
    """Hold one result against its reference; return error and bound. `not (error <= bound)` is true of NaN."""
    got = download(result, reducer.dtype)
    error = abs(float(got) - reference)
    # all elements are positive, so the sum of magnitudes is the sum; the second factor covers terms of second order
    bound = 0.0 if reducer.dtype == np.int32 else reducer.depth(rung, n) * 2.0**-24 * reference * 1.01
    if not error <= bound:
        raise AssertionError(
            f"reduce_{rung.name}<{reducer.dtype}> at n = {n}: {got} is off by {error:.3g} > {bound:.3g}"
        )
    return error, bound


def check_all(rng: np.random.Generator, sizes: list[int]) -> None:
    for dtype in (np.float32, np.int32):
        reducer = Reducer(dtype, max(sizes))
        pristine, data = (cuda.mem_alloc(4 * max(sizes) + 16) for _ in range(2))
        for n in sizes:
            values = fresh(rng, dtype, n)
            reference = exact(values)
            cuda.memcpy_htod(pristine, values)
            worst = 0.0
            for rung in RUNGS:
                if rung.in_place:
                    cuda.memcpy_dtod(data, pristine, values.nbytes)
                error, bound = check(reducer, rung, n, data if rung.in_place else pristine, reference)
                worst = max(worst, error / bound if bound else error)
            how = f"within {worst:.0%} of the bound" if dtype is np.float32 else "exact"
            print(f"{np.dtype(dtype).name:8} n = {n:>10,}  {len(RUNGS)} rungs, {how}")


def time_copy(reducer: Reducer, buffers: list, spare: cuda.DeviceAllocation, n: int) -> tuple[str, wb.Timing]:
    """The faster of a copy kernel and the driver's copy."""
    kernel, grid = reducer.module.get_function("copy"), (-(-n // (16 * BLOCK)), 1)
    ways = {
        "kernel": lambda i: kernel(buffers[i % 2], spare, np.int64(n), block=(BLOCK, 1, 1), grid=grid),
        "memcpy": lambda i: cuda.memcpy_dtod_async(spare, buffers[i % 2], 4 * n),
    }
    times = {}
    for way, launch in ways.items():

        def check(i: int, way: str = way) -> None:
            got, want = np.empty(n, reducer.dtype), np.empty(n, reducer.dtype)
            cuda.memcpy_dtoh(got, spare)
            cuda.memcpy_dtoh(want, buffers[i % 2])
            wb.check(got, want, what=f"copy by {way}")

        times[way] = wb.time(launch, poison=lambda i: cuda.memset_d32_async(spare, 0xFFFFFFFF, n), check=check)
    best = min(times, key=lambda way: times[way].median)
    return best, times[best]


def time_rung(
    reducer: Reducer, rung: Rung, buffers: list, spare: cuda.DeviceAllocation, references: list[float], n: int
) -> wb.Timing:
    """Time one rung, and check what it leaves on poisoned scratch, before and after."""
    result = None

    def prepare(i: int) -> None:
        reducer.poison(rung, n)
        if rung.in_place:  # the input must be there again
            cuda.memcpy_dtod_async(spare, buffers[i % 2], 4 * n)

    def launch(i: int) -> None:
        nonlocal result
        result = reducer.launch(rung, spare if rung.in_place else buffers[i % 2], n), references[i % 2]

    return wb.time(launch, poison=prepare, check=lambda i: compare(reducer, rung, n, *result))


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: cuda.DeviceAllocation, n: int, dtype: np.dtype) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": (n,), "typestr": dtype.str, "data": (int(address), False), "strides": None,
        }  # fmt: skip


def time_all(rng: np.random.Generator, n: int) -> None:
    """Time 2^28 floats on every rung, and integers on the last. Two inputs take turns, so that none is in the L2."""
    times: dict[str, wb.Timing] = {}
    for dtype, rungs in ((np.float32, RUNGS), (np.int32, RUNGS[-1:])):
        tag = "" if dtype is np.float32 else "_int"
        reducer = Reducer(dtype, n)
        values = [fresh(rng, dtype, n) for _ in range(2)]
        references = [exact(v) for v in values]
        buffers = [cuda.to_device(v) for v in values]
        spare = cuda.mem_alloc(4 * n)
        if not tag:
            how, times["copy"] = time_copy(reducer, buffers, spare, n)
        for rung in rungs:
            times[rung.name + tag] = time_rung(reducer, rung, buffers, spare, references, n)
        if torch is not None:
            tensors = [torch.as_tensor(Shared(b, n, reducer.dtype), device="cuda") for b in buffers]
            kind = getattr(torch, reducer.dtype.name)  # said, or torch adds integers in 64 bits
            got = float(torch.sum(tensors[0], dtype=kind))
            if not abs(got - references[0]) <= (1e-5 * references[0] if not tag else 0):
                raise AssertionError(f"torch.sum of {reducer.dtype}: {got}, not {references[0]}")
            times["torch" + tag] = wb.time(lambda i, tensors=tensors, kind=kind: torch.sum(tensors[i % 2], dtype=kind))
            if tag:
                times["torch_int64"] = wb.time(lambda i, tensors=tensors: torch.sum(tensors[i % 2]))
            del tensors
        for buffer in (*buffers, spare):
            buffer.free()
    report(times, 4 * n, how)


def report(times: dict[str, wb.Timing], nbytes: int, copied_by: str) -> None:
    print(f"\n{'':10}{'µs':>9}{'10 %':>9}{'90 %':>9}{'GB/s':>9}{'of copy':>9}{'step':>8}")
    before = None
    for name, t in times.items():
        moved = 2 * nbytes if name == "copy" else nbytes
        wb.timing(name, t, moved)
        of_copy = moved / t.median / (2 * nbytes / times["copy"].median)
        step = f"{before / t.median:7.2f}×" if before and name in {r.name for r in RUNGS} else ""
        before = t.median if name in {r.name for r in RUNGS} else None
        print(
            f"{name:10}{t.median * 1e6:9.1f}{t.low * 1e6:9.1f}{t.high * 1e6:9.1f}"
            f"{moved / t.median / 1e9:9.0f}{of_copy:9.1%}{step}" + (f"   by {copied_by}" if name == "copy" else "")
        )


def profile(rng: np.random.Generator, n: int) -> None:
    """Each rung once, on its own copy of the input."""
    reducer = Reducer(np.float32, n)
    values = fresh(rng, np.float32, n)
    data, reference = cuda.mem_alloc(values.nbytes), exact(values)
    for rung in RUNGS:
        cuda.memcpy_htod(data, values)
        check(reducer, rung, n, data, reference)
        print(f"reduce_{rung.name} at n = {n}: within its bound")


if __name__ == "__main__":
    generator = np.random.default_rng(20260707)
    if "--profile" in sys.argv[1:]:
        profile(generator, 2**26 if wb.is_gpu() else 2**20)
    else:
        print(f"device: {wb.device()['name']}, {wb.device()['multiprocessors']} multiprocessors")
        check_all(generator, [1, 31, 1023, 2**20 + 7] + ([2**28] if wb.is_gpu() else []))
        if wb.is_gpu():
            time_all(generator, 2**28)
        else:
            print("no GPU: nothing is timed")
