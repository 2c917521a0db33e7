"""What it costs when the threads of a warp part: k = 1 … 32 paths, within warps and between them.

python divergence_k.py             check; on a GPU also time every k, short paths beside memory, and a predicated branch
python divergence_k.py --profile   k = 1, 2, 8, 32 within warps, 32 between warps, and the predicated branch, once each
"""

import sys
from functools import partial

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK, VALUES = 256, 64
PROFILED = "execution-model/divergence_k.py --profile"
ALL = range(1, 33)


# --8<-- [start:reference]
def steps(values: np.ndarray, trips: int) -> np.ndarray:
    """expected[p, v]: where path p takes values[v]."""
    x = np.tile(values, (32, 1))
    paths = np.arange(32, dtype=np.uint32)[:, None]
    for _ in range(4 * trips):
        x = x * x + paths
    return x


def collatz(values: np.ndarray, count: int) -> np.ndarray:
    x = values.copy()
    for _ in range(count):
        x = np.where(x % 2 == 1, 3 * x + 1, x // 2)
    return x


# --8<-- [end:reference]


class Work:
    """n numbers drawn from a few, so that the reference is quickly computed, and a poisoned place for the results."""

    def __init__(self, n: int, *, by_warp: bool = False) -> None:
        rng = np.random.default_rng(n)
        self.n, self.values = n, rng.integers(0, 2**32, VALUES, dtype=np.uint32)
        self.tile = min(n, 2**20)  # larger arrays repeat this many numbers
        self.drawn = rng.integers(0, VALUES, self.tile)
        if by_warp:  # all lanes of a warp have the same number
            self.drawn = np.repeat(self.drawn[: -(-self.tile // 32)], 32)[: self.tile]
        self.data = cuda.to_device(np.tile(self.values[self.drawn], n // self.tile))
        self.out = cuda.mem_alloc(4 * n)
        self.grid = (-(-n // BLOCK), 1)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, self.n)

    def hold(self, want: np.ndarray, what: str) -> None:
        got = np.empty(self.n, np.uint32)
        cuda.memcpy_dtoh(got, self.out)
        rows = got.reshape(-1, self.tile)
        wrong = (row for row in rows if not np.array_equal(row, want))
        wb.check(next(wrong, rows[-1]), want, what=what)

    def free(self) -> None:
        self.data.free()
        self.out.free()


class Paths(Work):
    def __init__(self, n: int, trips: int) -> None:
        super().__init__(n)
        self.trips, self.expected = trips, steps(self.values, trips)

    # --8<-- [start:launch]
    def launch(self, kernel: cuda.Function, k: int, group: int, _: int = 0) -> None:
        numbers = np.int32(self.n), np.uint32(k), np.uint32(group), np.int32(self.trips)
        kernel(self.data, self.out, *numbers, block=(BLOCK, 1, 1), grid=self.grid)

    def check(self, k: int, group: int, _: int = 0) -> None:
        which = np.arange(self.tile) // group % k
        self.hold(self.expected[which, self.drawn], f"{k} paths, groups of {group}, n = {self.n}")

    # --8<-- [end:launch]


def check_all(module) -> None:
    paths = module.get_function("paths")
    for n in (1, 31, 1000, 4099):
        work = Paths(n, trips=8)
        for group in (1, 32):
            for k in (1, 2, 3, 7, 31, 32) if n > 31 else (1, 3, 32):
                work.poison()
                work.launch(paths, k, group)
                work.check(k, group)
    print("k paths within and between warps: every number exact at n = 1, 31, 1000, 4099")
    for n in (1, 31, 1000):
        work = Work(n)
        check_light(work, module.get_function("light"), 8)
        check_collatz(work, module.get_function("collatz"), 101)
    print("short paths and the predicated branch: every number exact at n = 1, 31, 1000")


def light(kernel: cuda.Function, work: Work, k: int, _: int = 0) -> None:
    kernel(work.data, work.out, np.int32(work.n), np.uint32(k), block=(BLOCK, 1, 1), grid=work.grid)


def hold_light(work: Work, k: int, _: int = 0) -> None:
    work.hold(steps(work.values, 1)[np.arange(work.tile) % k, work.drawn], f"{k} short paths, n = {work.n}")


def check_light(work: Work, kernel: cuda.Function, k: int) -> None:
    work.poison()
    light(kernel, work, k)
    hold_light(work, k)


def run_collatz(kernel: cuda.Function, work: Work, count: int, _: int = 0) -> None:
    kernel(work.data, work.out, np.int32(work.n), np.int32(count), block=(BLOCK, 1, 1), grid=work.grid)


def hold_collatz(work: Work, count: int, _: int = 0) -> None:
    work.hold(collatz(work.values, count)[work.drawn], f"collatz, n = {work.n}")


def check_collatz(work: Work, kernel: cuda.Function, count: int) -> None:
    work.poison()
    run_collatz(kernel, work, count)
    hold_collatz(work, count)


# --8<-- [start:fit]
def fit(k: np.ndarray, t: np.ndarray) -> tuple[float, float, float]:
    """The line t = a + b k by least squares, and R², the share of the spread that it explains."""
    b, a = np.polyfit(k, t, 1)
    left = t - (a + b * k)
    return float(a), float(b), float(1 - (left @ left) / ((t - t.mean()) @ (t - t.mean())))


# --8<-- [end:fit]


def time_paths(module) -> None:
    """Every SM full of warps, each thread 16384 steps."""
    kernel = module.get_function("paths")
    work = Paths(cuda.Context.get_device().multiprocessor_count * 2048, trips=4096)
    columns = {}
    print(f"\n{'k':>4}{'within':>11}{'to k = 1':>10}{'between':>11}{'µs':>5}")
    for group, name in ((1, "within"), (32, "between")):
        times = [
            wb.time(
                partial(work.launch, kernel, k, group),
                poison=work.poison,
                check=partial(work.check, k, group),
                repeats=10,
                warmup=1,
            )
            for k in ALL
        ]
        columns[name] = times
        middle, low, high = ([getattr(t, part) for t in times] for part in ("median", "low", "high"))
        wb.series(f"{name}.sweep", list(ALL), middle, x_unit="count", unit="s", low=low, high=high)
        for k in (1, 2, 8, 32):
            wb.timing(f"{name}_{k}", times[k - 1])
    for k in ALL:
        one, two = (columns[name][k - 1].median * 1e6 for name in columns)
        print(f"{k:>4}{one:>11.1f}{one / columns['within'][0].median * 1e-6:>9.2f}×{two:>11.1f}")
    a, b, r2 = fit(np.array(ALL), np.array([t.median for t in columns["within"]]))
    wb.value("fit.start", a, "s")
    wb.value("fit.slope", b, "s")
    wb.value("fit.r2", r2, "1")
    print(f"\nline: {a * 1e6:.1f} µs + {b * 1e6:.1f} µs a path; 1 - R² = {1 - r2:.2e} this time")
    work.free()
    alone = Paths(32, trips=4096)  # one warp on the whole device: nobody else to fill its gaps
    for k in (1, 2, 32):
        t = wb.time(
            partial(alone.launch, kernel, k, 1), poison=alone.poison, check=partial(alone.check, k, 1), repeats=20
        )
        wb.timing(f"single_{k}", t)
        print(f"one warp alone, {k:>2} paths: {t.median * 1e6:.1f} µs")
    alone.free()


def time_light(module, n: int) -> None:
    """Short paths in a kernel that mostly waits for memory."""
    work, kernel = Work(n), module.get_function("light")
    print(f"\n{'short paths':>12}{'µs':>10}")
    for k in (1, 2, 4, 8, 16, 32):
        t = wb.time(partial(light, kernel, work, k), poison=work.poison, check=partial(hold_light, work, k), repeats=30)
        wb.timing(f"light_{k}", t, 8 * n)
        print(f"{k:>12}{t.median * 1e6:>10.1f}")
    work.free()


def time_collatz(module) -> None:
    kernel, n, count = module.get_function("collatz"), 132 * 2048, 20_000
    print(f"\n{'lanes':>12}{'µs':>10}")
    for by_warp, name in ((False, "mixed"), (True, "agreed")):
        work = Work(n, by_warp=by_warp)
        t = wb.time(
            partial(run_collatz, kernel, work, count), poison=work.poison, check=partial(hold_collatz, work, count)
        )
        wb.timing(f"collatz_{name}", t)
        print(f"{name:>12}{t.median * 1e6:>10.1f}")
        work.free()


def profile(n: int, trips: int) -> None:
    """The kernel gets a name for each k, so that a profiler can tell the launches apart."""
    work = Paths(n, trips)
    for name, k, group in (
        ("paths_1", 1, 1), ("paths_2", 2, 1), ("paths_8", 8, 1), ("paths_32", 32, 1), ("aligned_32", 32, 32),
    ):  # fmt: skip
        module = wb.module("execution-model/divergence.cu", paths=name)
        work.poison()
        work.launch(module.get_function(name), k, group)
        work.check(k, group)
        print(f"{name}: exact")
    check_collatz(work, module.get_function("collatz"), 4 * trips)
    print("collatz: exact")
    work = Work(2**26 if wb.is_gpu() else n)
    for name, k in (("light_1", 1), ("light_32", 32)):
        check_light(work, wb.module("execution-model/divergence.cu", light=name).get_function(name), k)
        print(f"{name}: exact")


if __name__ == "__main__":
    gpu = wb.is_gpu()
    if "--profile" in sys.argv[1:]:
        profile(132 * 2048 if gpu else 132 * 64, 512 if gpu else 16)
    else:
        print(f"device: {wb.device()['name']}")
        compiled = wb.module("execution-model/divergence.cu")
        check_all(compiled)
        if gpu:
            time_paths(compiled)
            time_light(compiled, 2**26)  # 256 MiB in, 256 MiB out
            time_collatz(compiled)
        else:
            print("no GPU: nothing is timed")
