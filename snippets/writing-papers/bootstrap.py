"""The interval of a ratio by bootstrap: three kernels against NumPy with the same draws, and against SciPy.

python bootstrap.py             check; on a GPU also time a million resamples beside SciPy
python bootstrap.py --profile   launch each kernel once for a profiler
"""

import functools
import sys
import time
from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _philox import KNOWN, check_philox, draws, philox
from scipy import stats

RUNS = 50  # of each version, as warpbench.time makes
SIZES = (1, 2, 3, 31, 32, 33, 50, 100, 257)
WARPS, MOST = 8, 512
SCIPY_BATCH = 10_000


def timings(rng: np.random.Generator, n: int, nanoseconds: float = 250_000) -> np.ndarray:
    """Times of n runs of one program, in whole nanoseconds: never below a floor, with a tail above it."""
    return (nanoseconds * (1 + rng.gamma(2.0, 0.02, n))).astype(np.uint32)


@functools.cache
def kernels():
    """Compiled once, so that no timed job compiles."""
    return wb.module("writing-papers/bootstrap.cu", WARPS=WARPS, MOST=MOST)


# --8<-- [start:host]
class Bootstrap:
    """Two samples on the device, and the ratios of their resamples."""

    def __init__(self, a: np.ndarray, b: np.ndarray, resamples: int, seed: tuple[int, int]) -> None:
        self.a, self.b, self.resamples, self.seed = a, b, resamples, seed
        self.module = kernels()
        self.at = cuda.to_device(a), cuda.to_device(b)
        self.sorted = cuda.to_device(np.sort(a)), cuda.to_device(np.sort(b))
        self.ratios = cuda.mem_alloc(8 * resamples)

    def spoil(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.ratios, 0x7FF80000, 2 * self.resamples)

    def launch(self, name: str, paired: bool = False) -> None:
        medians = name == "medians_by_warp"
        if medians and max(len(self.a), len(self.b)) > MOST:
            raise ValueError(f"medians of {max(len(self.a), len(self.b))} values: a warp counts at most {MOST}")
        if paired and len(self.a) != len(self.b):
            raise ValueError(f"pairs of {len(self.a)} and {len(self.b)} values: both samples must be equally long")
        a, b = self.sorted if medians else self.at
        each = 32 * WARPS if name == "means_by_thread" else WARPS  # resamples per block
        self.module.get_function(name)(
            self.ratios, a, b, np.int32(len(self.a)), np.int32(len(self.b)),
            np.array(self.seed, np.uint32), np.int32(self.resamples), *([] if medians else [np.int32(paired)]),
            block=(32 * WARPS, 1, 1), grid=(-(-self.resamples // each), 1),
        )  # fmt: skip

    def read(self) -> np.ndarray:
        return cuda.from_device(self.ratios, self.resamples, np.float64)

    def interval(self, name: str = "means_by_thread", confidence: float = 0.95) -> tuple[float, float]:
        """The percentile interval: what lies between the outer 2.5 % of the ratios on either side."""
        self.launch(name)
        low, high = np.quantile(self.read(), [(1 - confidence) / 2, (1 + confidence) / 2])
        return float(low), float(high)


# --8<-- [end:host]


# --8<-- [start:reference]
def by_numpy(a: np.ndarray, b: np.ndarray, resamples: int, seed: tuple[int, int], how: Callable, paired: bool):
    """The ratios from the same draws; a draw is a place in the sample, for medians in the sorted sample."""
    if how is np.median:
        a, b = np.sort(a), np.sort(b)
    numbers = np.arange(resamples)
    left = a[draws(len(a), numbers, 0, seed)]
    right = b[draws(len(b), numbers, 0 if paired else 1, seed)]
    return how(left, 1) / how(right, 1)


def mean(x: np.ndarray, axis: int) -> np.ndarray:
    """Of whole numbers, with an exact sum."""
    return x.sum(axis, dtype=np.uint64).astype(np.float64) / x.shape[axis]


# --8<-- [end:reference]


def check_words(rng: np.random.Generator) -> None:
    """The device's Philox gives the known answers, and NumPy's words for counters at random."""
    check_philox(rng)
    n = 64
    counters, keys = rng.integers(0, 1 << 32, (n, 4), np.uint32), rng.integers(0, 1 << 32, (n, 2), np.uint32)
    for i, (counter, key, _) in enumerate(KNOWN):
        counters[i], keys[i] = counter, key
    out = cuda.to_device(np.full((n, 4), 0xDEADBEEF, np.uint32))
    kernels().get_function("philox_words")(
        out, cuda.to_device(counters), cuda.to_device(keys), np.int32(n), block=(n, 1, 1), grid=(1, 1)
    )
    words = cuda.from_device(out, (n, 4), np.uint32)
    wb.check(words[: len(KNOWN)], np.array([known for _, _, known in KNOWN], np.uint32), what="known answers")
    want = [philox([int(x) for x in c], tuple(int(x) for x in k), 32) for c, k in zip(counters, keys, strict=True)]
    wb.check(words, np.array([[int(x) for x in four] for four in want], np.uint32), what="Philox")
    print("Philox: 64 bits as NumPy's own, 32 bits as the known answers, on the device as in NumPy")


def check_ratios(rng: np.random.Generator, resamples: int = 700) -> None:
    """Every ratio of every kernel, to the last bit."""
    for n in SIZES:
        a, b = timings(rng, n), timings(rng, n + n // 3, 200_000)
        seed = (int(rng.integers(1 << 32)), int(rng.integers(1 << 32)))
        unpaired = Bootstrap(a, b, resamples, seed)
        paired = Bootstrap(a, timings(rng, n, 200_000), resamples, seed)
        for name, one, pairs, how in (
            ("means_by_warp", unpaired, False, mean), ("means_by_thread", unpaired, False, mean),
            ("means_by_warp", paired, True, mean), ("means_by_thread", paired, True, mean),
            ("medians_by_warp", unpaired, False, np.median),
        ):  # fmt: skip
            one.spoil()
            one.launch(name, pairs)
            wb.check(one.read(), by_numpy(one.a, one.b, resamples, seed, how, pairs), 0.0, f"{name}, n = {n}")
    print(f"means by warp and by thread, paired or not, and medians: {len(SIZES)} sizes, every ratio to the last bit")


def by_scipy(a: np.ndarray, b: np.ndarray, resamples: int, how: Callable, rng: np.random.Generator):
    return stats.bootstrap(
        (a.astype(np.float64), b.astype(np.float64)),
        lambda x, y, axis=-1: how(x, axis=axis) / how(y, axis=axis),
        n_resamples=resamples, batch=SCIPY_BATCH, method="percentile", vectorized=True, rng=rng,
    ).confidence_interval  # fmt: skip


def check_intervals(rng: np.random.Generator, resamples: int = 20_000) -> None:
    """The ends agree with SciPy's within a twentieth of the width: the draws differ, so chance is left."""
    a, b = timings(rng, RUNS), timings(rng, RUNS, 200_000)
    one = Bootstrap(a, b, resamples, (int(rng.integers(1 << 32)), 1))
    for name, how in (("means_by_thread", np.mean), ("means_by_warp", np.mean), ("medians_by_warp", np.median)):
        one.spoil()
        ours, theirs = np.array(one.interval(name)), np.array(by_scipy(a, b, resamples, how, rng))
        share = 0.05 if how is np.mean else 0.15  # medians take few values, so their ends move in steps
        wb.check(ours, theirs, share * (theirs[1] - theirs[0]), f"{name} beside SciPy")
    print(f"{resamples} resamples of {RUNS} and {RUNS} times: intervals as SciPy's")


def timed(job: Callable[[], object], repeats: int) -> wb.Timing:
    """A job on the host from beginning to end, in seconds."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - start)
    low, median, high = np.percentile(seconds[1:], [10, 50, 90])
    return wb.Timing(float(median), float(low), float(high), repeats)


def measure(rng: np.random.Generator, resamples: int) -> None:
    """Kernels by events; then the whole job, from samples on the host to the interval, beside SciPy's."""
    a, b = timings(rng, RUNS), timings(rng, RUNS, 200_000)
    seed = (int(rng.integers(1 << 32)), 2)
    one = Bootstrap(a, b, resamples, seed)
    some = slice(0, 4096)
    print(f"{resamples} resamples of {RUNS} and {RUNS} times")
    for name, how in (("means_by_warp", mean), ("means_by_thread", mean), ("medians_by_warp", np.median)):
        want = by_numpy(a, b, some.stop, seed, how, False)
        t = wb.time(
            lambda i, name=name: one.launch(name),
            poison=one.spoil,
            check=lambda i, name=name, want=want: wb.check(one.read()[some], want, 0.0, name),
        )
        wb.timing(name, t)
        print(f"{name:16} {t.median * 1e3:9.3f} ms")

    def whole(name: str = "means_by_thread") -> None:
        Bootstrap(a, b, resamples, seed).interval(name)

    for name, job, repeats in (
        ("job", whole, 20),
        ("job_medians", lambda: whole("medians_by_warp"), 20),
        ("scipy", lambda: by_scipy(a, b, resamples, np.mean, rng), 3),
        ("scipy_medians", lambda: by_scipy(a, b, resamples, np.median, rng), 1),
    ):
        t = timed(job, repeats)
        wb.timing(name, t)
        print(f"{name:16} {t.median * 1e3:9.1f} ms")


def profile(resamples: int = 4096) -> None:
    """Each kernel once, on data and draws that are the same in every run."""
    rng = np.random.default_rng(24)
    a, b, seed = timings(rng, RUNS), timings(rng, RUNS, 200_000), (24, 0)
    one = Bootstrap(a, b, resamples, seed)
    for name, how in (("means_by_warp", mean), ("means_by_thread", mean), ("medians_by_warp", np.median)):
        one.spoil()
        one.launch(name)
        wb.check(one.read(), by_numpy(a, b, resamples, seed, how, False), 0.0, name)
    print(f"{resamples} resamples: every ratio to the last bit")


if __name__ == "__main__":
    if "--profile" in sys.argv[1:]:
        profile()
    else:
        print(f"device: {wb.device()['name']}")
        generator = np.random.default_rng()
        check_words(generator)
        check_ratios(generator)
        check_intervals(generator)
        if wb.is_gpu():
            measure(generator, 1_000_000)
        else:
            print("no GPU: nothing is timed")
