"""Ask the L2 to fetch at most 32, 64 or 128 bytes at a time from DRAM: what do strided reads cost?

python fetch.py             check; on a GPU also time strides 1 to 64 of 1 GiB under each limit
python fetch.py --profile   2^23 words at stride 32 under each limit, for a profiler (softcuda: 2^15)
"""

import ctypes
import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from stride import Reader, check

LIMITS = [32, 64, 128]  # bytes: a sector, two, a line
STRIDES = [1, 2, 4, 8, 16, 32, 64]
WORDS = 2**28  # 1 GiB
MAX_L2_FETCH_GRANULARITY = 5  # of the driver's CUlimit; PyCUDA does not name it

_library = ctypes.CDLL("libcuda.so.1")  # the one that PyCUDA uses


def limit() -> int:
    """The most bytes that the L2 fetches at a time, as the driver says."""
    size = ctypes.c_size_t()
    if status := _library.cuCtxGetLimit(ctypes.byref(size), MAX_L2_FETCH_GRANULARITY):
        raise RuntimeError(f"cuCtxGetLimit: error {status}")
    return size.value


def set_limit(size: int) -> None:
    """Ask for another limit. It is a hint: hardware may do what it likes."""
    if status := _library.cuCtxSetLimit(MAX_L2_FETCH_GRANULARITY, ctypes.c_size_t(size)):
        raise RuntimeError(f"cuCtxSetLimit: error {status}")


def check_all(reader: Reader, rng: np.random.Generator) -> None:
    values = rng.integers(0, 2**32, 2**16 + 71, np.uint32)
    data = cuda.to_device(values)
    for size in LIMITS:
        set_limit(size)
        for stride in (1, 8, 32):
            check(reader, data, values, len(values) // stride, stride)
        print(f"asked for {size} bytes, the driver says {limit()}: sums exact")


def time_all(reader: Reader, rng: np.random.Generator) -> None:
    values = rng.integers(0, 2**32, WORDS, np.uint32)
    data, other = cuda.to_device(values), cuda.mem_alloc(2**28)
    want = {stride: values[::stride].sum(dtype=np.uint32) for stride in STRIDES}

    def poison(_: int) -> None:
        cuda.memset_d32_async(other, 0x5A5A5A5A, 2**26)  # pushes the data out of the L2
        reader.poison()

    print(f"\n{'stride':>8}" + "".join(f"{f'{size} B':>9}" for size in LIMITS) + "   GB/s used")
    rates: dict[int, list[wb.Timing]] = {size: [] for size in LIMITS}
    for stride in STRIDES:
        count = WORDS // stride
        for size in LIMITS:
            set_limit(size)
            t = wb.time(
                lambda i, c=count, s=stride: reader.launch(data, c, s),
                repeats=30,
                poison=poison,
                check=lambda i, s=stride, size=size: wb.check(
                    reader.total(), want[s], what=f"stride {s}, limit {size}"
                ),
            )
            rates[size].append(t)
            wb.timing(f"fetch_{size}.stride_{stride}", t, 4 * count)
        row = "".join(f"{4 * count / rates[size][-1].median / 1e9:9.0f}" for size in LIMITS)
        print(f"{stride:8}{row}", flush=True)
    counts = [WORDS // stride for stride in STRIDES]
    for size, times in rates.items():
        wb.series(
            f"fetch.{size}",
            STRIDES,
            [4 * c / t.median for c, t in zip(counts, times, strict=True)],
            x_unit="count",
            unit="B/s",
            low=[4 * c / t.high for c, t in zip(counts, times, strict=True)],
            high=[4 * c / t.low for c, t in zip(counts, times, strict=True)],
        )


def profile(rng: np.random.Generator) -> None:
    """As many words at stride 32 in each launch; a kernel's name says what was asked for."""
    count = 2**23 if wb.is_gpu() else 2**15
    values = rng.integers(0, 2**32, 32 * count, np.uint32)
    data = cuda.to_device(values)
    for size in LIMITS:
        set_limit(size)
        check(Reader(f"fetch_{size}"), data, values, count, 32)
        print(f"asked for {size} bytes, the driver says {limit()}: exact, {count:,} words")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator)
    else:
        before = limit()
        print(f"device: {wb.device()['name']}; before, the limit is {before} bytes")
        reader = Reader()
        check_all(reader, generator)
        if wb.is_gpu():
            wb.needs(memory=2**30 + 2**29)
            wb.value("fetch.default", before, "B")
            time_all(reader, generator)
        else:
            print("no GPU: nothing is timed")
        set_limit(before)
