"""What prefix sums are used for: keep some numbers in their order, and a pass of a radix sort.

python uses.py             check against NumPy; on a GPU also time 2^28 numbers and 2^26 keys
python uses.py --profile   launch each once for a profiler: 2^26 numbers (softcuda: 2^16)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK, TILE, DIGITS = 256, 4096, 256  # as in scan.cu and uses.cu


class Uses:
    """The kernels, and memory for at most n numbers beside input and output."""

    def __init__(self, n: int) -> None:
        module = wb.module("scan/scan.cu", append=wb.source("scan/uses.cu"), ELEMENT="int")
        names = ("compact", "scan_exclusive", "radix_count", "radix_scatter")
        self.compact_, self.scan, self.count, self.scatter = (module.get_function(name) for name in names)
        tiles = -(-n // TILE)
        self.counts, self.starts = (cuda.mem_alloc(4 * DIGITS * tiles) for _ in range(2))
        self.words = cuda.mem_alloc(8 * (1 + max(tiles, -(-DIGITS * tiles // TILE))))
        self.kept = cuda.mem_alloc(4)

    def look_back_memory(self, tiles: int) -> tuple:
        """Cleared words of the tiles, and the next ticket."""
        cuda.memset_d32_async(self.words, 0, 2 * (1 + tiles))
        return np.uint64(int(self.words) + 8), self.words

    # --8<-- [start:launches]
    def compact(self, data: cuda.DeviceAllocation, out: cuda.DeviceAllocation, n: int) -> None:
        tiles = -(-n // TILE)
        shape = {"block": (BLOCK, 1, 1), "grid": (tiles, 1)}
        self.compact_(data, out, *self.look_back_memory(tiles), self.kept, np.int64(n), **shape)

    def radix_pass(self, keys: cuda.DeviceAllocation, out: cuda.DeviceAllocation, shift: int, n: int) -> None:
        """Sort by the eight bits from `shift` on; keys whose eight bits are equal keep their order."""
        tiles, digits = -(-n // TILE), -(-n // TILE) * DIGITS
        shape = {"block": (BLOCK, 1, 1), "grid": (tiles, 1)}
        self.count(keys, self.counts, np.int32(shift), np.int64(n), **shape)
        memory = self.look_back_memory(-(-digits // TILE))
        grid = (-(-digits // TILE), 1)
        self.scan(self.counts, self.starts, *memory, np.int64(digits), block=(BLOCK, 1, 1), grid=grid)
        self.scatter(keys, out, self.starts, np.int32(shift), np.int64(n), **shape)

    def sort(self, keys: cuda.DeviceAllocation, spare: cuda.DeviceAllocation, n: int) -> None:
        """Sort in place: four passes, from the lowest digit to the highest."""
        for shift in (0, 16):
            self.radix_pass(keys, spare, shift, n)
            self.radix_pass(spare, keys, shift + 8, n)

    # --8<-- [end:launches]


class Numbers:
    """Random numbers as floats and as keys, and what becomes of them."""

    def __init__(self, rng: np.random.Generator, n: int) -> None:
        self.n = n
        self.floats = 2 * rng.random(n, dtype=np.float32) - 1
        self.keys = rng.integers(0, 2**32, n, np.uint32)
        self.uses = Uses(n)
        self.data, self.out, self.spare = (cuda.mem_alloc(4 * n) for _ in range(3))

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, self.n)
        cuda.memset_d32_async(self.uses.kept, 0xFFFFFFFF, 1)

    def result(self, address: cuda.DeviceAllocation, count: int, dtype: type) -> np.ndarray:
        got = np.empty(count, dtype)
        if count:
            cuda.memcpy_dtoh(got, address)
        return got

    def check_compact(self) -> int:
        want = self.floats[self.floats > 0]
        kept = int(self.result(self.uses.kept, 1, np.int32)[0])
        same(np.array([kept]), np.array([want.size]), "how many are kept")
        same(self.result(self.out, kept, np.float32), want, "what is kept")
        rest = self.result(self.out, self.n, np.uint32)[kept:]
        same(rest, np.full_like(rest, 0xFFFFFFFF), "behind what is kept")
        return kept

    def check_pass(self, shift: int) -> None:
        order = np.argsort((self.keys >> np.uint32(shift)).astype(np.uint8), kind="stable")
        same(self.result(self.out, self.n, np.uint32), self.keys[order], f"the pass over bits {shift} to {shift + 7}")

    def check_sort(self) -> None:
        same(self.result(self.data, self.n, np.uint32), np.sort(self.keys), "the sorted keys")


def same(got: np.ndarray, want: np.ndarray, what: str) -> None:
    if not np.array_equal(got, want):
        raise AssertionError(f"{what}: {got.size} numbers, not the {want.size} of NumPy, or wrong ones")


def check(numbers: Numbers) -> None:
    """Each use once."""
    uses, n = numbers.uses, numbers.n
    cuda.memcpy_htod(numbers.data, numbers.floats)
    numbers.poison()
    uses.compact(numbers.data, numbers.out, n)
    numbers.check_compact()
    cuda.memcpy_htod(numbers.data, numbers.keys)
    for shift in (0, 24):
        numbers.poison()
        uses.radix_pass(numbers.data, numbers.out, shift, n)
        numbers.check_pass(shift)
    uses.sort(numbers.data, numbers.spare, n)
    numbers.check_sort()


def time_all(rng: np.random.Generator, n: int, keys: int) -> None:
    """Each use, and a copy of all numbers as the yardstick."""
    numbers, few = Numbers(rng, n), Numbers(rng, keys)
    copied = wb.time(lambda i: cuda.memcpy_dtod_async(numbers.out, numbers.spare, 4 * n))
    cuda.memcpy_htod(numbers.data, numbers.floats)
    cuda.memcpy_htod(few.data, few.keys)
    compact = wb.time(
        lambda i: numbers.uses.compact(numbers.data, numbers.out, n),
        poison=numbers.poison,
        check=lambda i: numbers.check_compact(),
    )
    one_pass = wb.time(
        lambda i: few.uses.radix_pass(few.data, few.out, 8, keys), poison=few.poison, check=lambda i: few.check_pass(8)
    )
    sort = wb.time(  # of `out`, beside `spare`
        lambda i: few.uses.sort(few.out, few.spare, keys),
        poison=lambda i: cuda.memcpy_dtod_async(few.out, few.data, 4 * keys),
    )
    same(few.result(few.out, keys, np.uint32), np.sort(few.keys), "the sorted keys")
    kept = numbers.check_compact()
    for name, t, count, moved in (
        ("compact", compact, n, 4 * (n + kept)),
        ("pass", one_pass, keys, 12 * keys),  # count: 4 bytes per key; scatter: 8
        ("sort", sort, keys, 4 * 12 * keys),
        ("uses_copy", copied, n, 8 * n),
    ):
        wb.timing(name, t, moved)
        print(f"{name:9} of {count:,}{t.median * 1e6:9.1f} µs{moved / t.median / 1e9:8.0f} GB/s")


if __name__ == "__main__":
    generator = np.random.default_rng(28 if "--profile" in sys.argv[1:] else None)  # counters are the same each time
    if "--profile" in sys.argv[1:]:
        size = 2**26 if wb.is_gpu() else 2**16
        numbers = Numbers(generator, size)
        cuda.memcpy_htod(numbers.data, numbers.floats)
        numbers.poison()
        numbers.uses.compact(numbers.data, numbers.out, size)
        numbers.check_compact()
        cuda.memcpy_htod(numbers.data, numbers.keys)
        numbers.poison()
        numbers.uses.radix_pass(numbers.data, numbers.out, 8, size)
        numbers.check_pass(8)
        print(f"compact and a radix pass of {size} numbers: as in NumPy")
    else:
        for size in (1, 31, 4096, 50_007) + ((2**24 + 3,) if wb.is_gpu() else ()):
            check(Numbers(generator, size))
            print(f"n = {size:>10,}: compaction, two radix passes and a sort as in NumPy")
        if wb.is_gpu():
            wb.needs(memory=5 * 2**30)
            time_all(generator, 2**28, 2**26)
        else:
            print("no GPU: nothing is timed")
