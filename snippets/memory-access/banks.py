"""Bank conflicts made to order: 1 to 32 lanes of a warp want different words of one bank.

python banks.py             check; on a GPU also time words of 4, 8 and 16 bytes, and a broadcast
python banks.py --profile   one launch for each of six patterns, for a profiler
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK, WORDS, LOADS = 1024, 8192, 16  # as in banks.cu: threads, words of shared memory, loads a round
SMS = cuda.Context.get_device().multiprocessor_count
TYPES = {4: "unsigned", 8: "uint2", 16: "uint4"}


# --8<-- [start:pattern]
def conflict(ways: int, size: int = 4) -> np.ndarray:
    """An index for each lane so that `ways` lanes of each group meet in one bank, and the others are alone.

    32 lanes go together with words of 4 bytes, 16 with words of 8, 8 with words of 16: 128 bytes, the banks' width.
    """
    group = 128 // size
    lane = np.arange(32) % group
    return np.where(lane < ways, lane * group, lane).astype(np.int32)  # a multiple of `group` is in bank 0


# --8<-- [end:pattern]


# --8<-- [start:wavefronts]
def wavefronts(index: np.ndarray, size: int = 4) -> int:
    """Passes that a warp's load takes: for each group of lanes, the most different words that one bank must give."""
    total = 0
    for lanes in index.reshape(-1, 128 // size):
        words = {int(i) for i in lanes}  # the same word twice is one: a broadcast
        banks = [i % (128 // size) for i in words]
        total += max(banks.count(bank) for bank in banks)
    return total


# --8<-- [end:wavefronts]


class Bench:
    def __init__(self, rng: np.random.Generator, append: str = "") -> None:
        self.module = wb.module("memory-access/banks.cu", append=append)
        self.words = rng.integers(0, 2**32, WORDS, np.uint32)
        self.source, self.index = cuda.to_device(self.words), cuda.mem_alloc(128)
        self.blocks = 2 * SMS if wb.is_gpu() else 2
        self.sums = cuda.mem_alloc(4 * self.blocks * BLOCK)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.sums, 0xDEADBEEF, self.blocks * BLOCK)

    def launch(self, name: str, rounds: int) -> None:
        kernel = self.module.get_function(name)
        kernel(self.source, self.index, self.sums, np.int32(rounds), block=(BLOCK, 1, 1), grid=(self.blocks, 1))

    def check(self, name: str, index: np.ndarray, size: int, rounds: int) -> None:
        got = np.empty((self.blocks * BLOCK // 32, 32), np.uint32)
        cuda.memcpy_dtoh(got, self.sums)
        lane = self.words.reshape(-1, size // 4).sum(axis=1, dtype=np.uint32)[index] * np.uint32(LOADS * rounds)
        wb.check(got, np.broadcast_to(lane, got.shape), what=name)

    def run(self, name: str, index: np.ndarray, size: int, rounds: int) -> None:
        cuda.memcpy_htod(self.index, index)
        self.poison()
        self.launch(name, rounds)
        self.check(name, index, size, rounds)

    def time(self, index: np.ndarray, size: int, rounds: int) -> wb.Timing:
        cuda.memcpy_htod(self.index, index)
        name = f"read_{size}"
        return wb.time(
            lambda i: self.launch(name, rounds),
            repeats=12,
            poison=self.poison,
            check=lambda i: self.check(name, index, size, rounds),
        )


def time_all(bench: Bench) -> None:
    """Seconds that one load of a warp takes an SM, from launches of 4096 loads a thread."""
    rounds = 256
    loads = LOADS * rounds * (BLOCK // 32) * bench.blocks / SMS
    print(f"\n{'bytes':>6}{'ways':>6}{'ns a load':>11}{'wavefronts':>12}")
    for size, name in ((4, "four"), (8, "eight"), (16, "sixteen")):
        ways = list(range(1, 128 // size + 1))
        times = [bench.time(conflict(n, size), size, rounds) for n in ways]
        for n, t in zip(ways, times, strict=True):
            print(f"{size:6}{n:6}{t.median / loads * 1e9:11.3f}{wavefronts(conflict(n, size), size):12}")
        for n in (1, 2, ways[-1]):
            t = times[n - 1]
            wb.value(f"{name}_{n}.time", t.median / loads, "s", (t.low / loads, t.high / loads))
        wb.series(
            f"banks.{name}",
            ways,
            [t.median / loads for t in times],
            x_unit="count",
            unit="s",
            low=[t.low / loads for t in times],
            high=[t.high / loads for t in times],
        )
    t = bench.time(np.full(32, 77, np.int32), 4, rounds)
    wb.value("broadcast.time", t.median / loads, "s", (t.low / loads, t.high / loads))
    print(f"{'broadcast':>12}{t.median / loads * 1e9:11.3f}{1:12}")


PROFILED_ROUNDS = 4
PATTERNS = {  # kernel: bytes a lane, indices
    "conflict_1": (4, conflict(1)),
    "conflict_2": (4, conflict(2)),
    "conflict_32": (4, conflict(32)),
    "broadcast": (4, np.full(32, 77, np.int32)),
    "pairs": (8, conflict(1, 8)),
    "quads": (16, conflict(1, 16)),
}


def profile(rng: np.random.Generator) -> None:
    named = "".join(
        f'extern "C" __global__ void {name}(const unsigned* from, const int* index, unsigned* sums, int rounds) '
        f"{{ read_words<{TYPES[size]}>(from, index, sums, rounds); }}\n"
        for name, (size, _) in PATTERNS.items()
    )
    bench = Bench(rng, named)
    bench.blocks = 2  # few enough to count by hand
    for name, (size, index) in PATTERNS.items():
        bench.run(name, index, size, PROFILED_ROUNDS)
        print(f"{name}: exact; {wavefronts(index, size)} wavefronts a load")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator)
    else:
        print(f"device: {wb.device()['name']}, {SMS} multiprocessors")
        bench = Bench(generator)
        for size in TYPES:
            for ways in (1, 2, 3, 5, 128 // size):
                bench.run(f"read_{size}", conflict(ways, size), size, 2)
            bench.run(f"read_{size}", generator.integers(0, WORDS * 4 // size, 32, np.int32), size, 1)
        print("words of 4, 8 and 16 bytes: exact for 1 to 32 ways and for random indices")
        if wb.is_gpu():
            time_all(bench)
        else:
            print("no GPU: nothing is timed")
