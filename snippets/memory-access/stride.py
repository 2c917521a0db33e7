"""Read every stride-th word of 2 GiB, and words from a boundary and beside it: what does a useful byte cost?

python stride.py             check; on a GPU also time strides 1 to 64 and offsets 0 to 32
python stride.py --profile   2^24 words at strides 1, 8 and 32 and at offsets 1 and 8, for a profiler (softcuda: 2^15)
"""

import sys
from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK, PER_SM = 256, 8
GRID = cuda.Context.get_device().multiprocessor_count * PER_SM
WORDS = 2**29  # 2 GiB
STRIDES = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]  # all divide PERIOD
PERIOD = 192
OFFSETS = range(33)


def sectors(stride: int, offset: int = 0) -> int:
    """The sectors of 32 bytes that 32 lanes touch, if lane k reads the word offset + k * stride."""
    return len({4 * (offset + lane * stride) // 32 for lane in range(32)})


def fetched(stride: int) -> int:
    """The bytes that DRAM gives a warp if it gives 64 at a time."""
    return 64 * len({4 * lane * stride // 64 for lane in range(32)})


class Reader:
    def __init__(self, name: str = "stride_read") -> None:
        self.module = wb.module("memory-access/stride.cu", stride_read=name)  # a name for profilers
        self.kernel, self.packs = self.module.get_function(name), self.module.get_function("pack_read")
        self.sums = cuda.mem_alloc(4 * GRID * BLOCK)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.sums, 0xDEADBEEF, GRID * BLOCK)

    def launch(self, data: cuda.DeviceAllocation, count: int, stride: int, offset: int = 0) -> None:
        first = np.uintp(int(data) + 4 * offset)
        self.kernel(first, self.sums, np.int64(count), np.int64(stride), block=(BLOCK, 1, 1), grid=(GRID, 1))

    def launch_packs(self, data: cuda.DeviceAllocation, count: int, offset: int) -> None:
        first = np.uintp(int(data) + 16 * offset)
        self.packs(first, self.sums, np.int64(count), block=(BLOCK, 1, 1), grid=(GRID, 1))

    def total(self) -> np.ndarray:
        got = np.empty(GRID * BLOCK, np.uint32)
        cuda.memcpy_dtoh(got, self.sums)
        return got.sum(dtype=np.uint32)


def check(
    reader: Reader, data: cuda.DeviceAllocation, values: np.ndarray, count: int, stride: int, offset: int = 0
) -> None:
    reader.poison()
    reader.launch(data, count, stride, offset)
    want = values[offset::stride][:count].sum(dtype=np.uint32)
    wb.check(reader.total(), want, what=f"{count} words at stride {stride} from {offset}")


def check_all(reader: Reader, rng: np.random.Generator) -> None:
    """No word, one, a block's and the grid's edges; strides that share no factor with anything."""
    n = 2 * GRID * BLOCK + 71 if wb.is_gpu() else 2**16 + 71
    values = rng.integers(0, 2**32, n, np.uint32)
    data = cuda.to_device(values)
    for stride in (1, 2, 3, 8, 31, 32, 64):
        for count in (0, 1, 31, 1000, n // stride):
            check(reader, data, values, count, stride)
    for offset in (1, 7, 8, 31, 32):
        for count in (1, 31, 1000, n - offset):
            check(reader, data, values, count, 1, offset)
    for offset in (0, 1, 5):
        for count in (1, 31, 1000, n // 4 - offset):
            reader.poison()
            reader.launch_packs(data, count, offset)
            want = values[4 * offset :][: 4 * count].sum(dtype=np.uint32)
            wb.check(reader.total(), want, what=f"{count} packs from {offset}")
    print(f"strides 1 to 64 and offsets to 32: exact for 0 to {n:,} words")


def time_all(reader: Reader, rng: np.random.Generator) -> None:
    values = rng.integers(0, 2**32, WORDS, np.uint32)
    data, other = cuda.to_device(values), cuda.mem_alloc(2**28)

    def poison(_: int) -> None:
        cuda.memset_d32_async(other, 0x5A5A5A5A, 2**26)  # pushes the data out of the L2
        reader.poison()

    # One pass over the words gives the sums of all strides: the sum of each place within 192 words.
    whole = WORDS // PERIOD * PERIOD
    places = values[:whole].reshape(-1, PERIOD).sum(axis=0, dtype=np.uint32)
    places[: WORDS - whole] += values[whole:]

    def timed(launch: Callable[[], None], want: np.uint32, what: str) -> wb.Timing:
        return wb.time(
            lambda i: launch(),
            repeats=30,
            poison=poison,
            check=lambda i: wb.check(reader.total(), want, what=what),
        )

    print(f"\n{'stride':>8}{'µs':>9}{'GB/s used':>11}{'GB/s in sectors':>17}")
    useful, moved, low, high = [], [], [], []
    for stride in STRIDES:
        count = -(-WORDS // stride)
        want = places[::stride].sum(dtype=np.uint32)
        t = timed(lambda c=count, s=stride: reader.launch(data, c, s), want, f"stride {stride}")
        wb.timing(f"stride_{stride}", t, 4 * count)
        useful.append(4 * count / t.median)
        moved.append(useful[-1] * sectors(stride) / 4)
        low.append(4 * count / t.high), high.append(4 * count / t.low)
        print(f"{stride:8}{t.median * 1e6:9.1f}{useful[-1] / 1e9:11.0f}{moved[-1] / 1e9:17.0f}")
    wb.series("stride.useful", STRIDES, useful, x_unit="count", unit="B/s", low=low, high=high)
    wb.series("stride.sectors", STRIDES, moved, x_unit="count", unit="B/s")
    predicted = [useful[0] * 4 / sectors(stride) for stride in STRIDES]
    wb.value("stride_32.words", useful[STRIDES.index(32)] / 4, "1/s")
    fetches = [rate * fetched(stride) / 128 for stride, rate in zip(STRIDES, useful, strict=True)]
    wb.series("stride.fetched", STRIDES, fetches, x_unit="count", unit="B/s")
    wb.series("stride.predicted", STRIDES, predicted, x_unit="count", unit="B/s")

    print(f"\n{'offset':>8}{'µs':>9}{'GB/s':>8}")
    count, total = WORDS - OFFSETS[-1], places.sum(dtype=np.uint32)

    def between(first: int) -> np.uint32:
        """The sum of `count` words from `first` on: all, less what lies before and behind."""
        outside = int(values[:first].sum(dtype=np.uint32)) + int(values[first + count :].sum(dtype=np.uint32))
        return np.uint32((int(total) - outside) % 2**32)

    times = {
        offset: timed(lambda o=offset: reader.launch(data, count, 1, o), between(offset), f"offset {offset}")
        for offset in OFFSETS
    }
    for offset, t in times.items():
        print(f"{offset:8}{t.median * 1e6:9.1f}{4 * count / t.median / 1e9:8.0f}")
        if offset in (0, 1, 8, 32):
            wb.timing(f"offset_{offset}", t, 4 * count)
    worst = max(t.median for offset, t in times.items() if offset % 32)
    wb.value("offset_worst.rate", 4 * count / worst, "B/s")
    packs = {
        offset: timed(lambda o=offset: reader.launch_packs(data, count // 4, o), between(4 * offset), f"pack {offset}")
        for offset in range(9)
    }
    for offset, t in packs.items():
        print(f"{offset:4} × 4{t.median * 1e6:9.1f}{4 * count / t.median / 1e9:8.0f}   16 bytes a load")
    wb.timing("pack_offset_0", packs[0], 4 * count)
    worst = max(t.median for offset, t in packs.items() if offset % 8)
    wb.value("pack_offset_worst.rate", 4 * count / worst, "B/s")
    wb.series(
        "offset.packs",
        [4 * offset for offset in packs],
        [4 * count / t.median for t in packs.values()],
        x_unit="count",
        unit="B/s",
        low=[4 * count / t.high for t in packs.values()],
        high=[4 * count / t.low for t in packs.values()],
    )
    wb.series(
        "offset.rate",
        list(times),
        [4 * count / t.median for t in times.values()],
        x_unit="count",
        unit="B/s",
        low=[4 * count / t.high for t in times.values()],
        high=[4 * count / t.low for t in times.values()],
    )


def profile(rng: np.random.Generator) -> None:
    """As many words, and so as many requests, in every launch."""
    count = 2**24 if wb.is_gpu() else 2**15
    values = rng.integers(0, 2**32, 32 * count + 8, np.uint32)
    data = cuda.to_device(values)
    for stride, offset in ((1, 0), (8, 0), (32, 0), (1, 1), (1, 8)):
        name = f"offset_{offset}" if offset else f"stride_{stride}"
        check(Reader(name), data, values, count, stride, offset)
        print(f"{name}: exact, {count:,} words")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator)
    else:
        print(f"device: {wb.device()['name']}, {GRID} blocks of {BLOCK} threads")
        reader = Reader()
        check_all(reader, generator)
        if wb.is_gpu():
            wb.needs(memory=2**31 + 2**29)
            time_all(reader, generator)
        else:
            print("no GPU: nothing is timed")
