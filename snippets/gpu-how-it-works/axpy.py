"""AXPY, y <- a x + y: held against the best rate of a stream with two reads and one write, against NumPy and the bus.

python axpy.py             check every kernel; on a GPU also time 2^28 floats
python axpy.py --profile   launch AXPY once a float and once four floats a thread, for a profiler
"""

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb

try:
    import torch
except ImportError:
    torch = None

GPU = wb.is_gpu()
A = np.float32(-1.7320508)
STEPS = (1, 8, 32, 128, 512)
SHRINK = np.float32(1 - 2**-9)  # of y in each step of steps*
WAYS = {"axpy": 1, "axpy4": 4, "axpy4x2": 8, "axpy4x4": 16}  # floats a thread
YARDSTICKS = {"triad4": 4, "triad4x2": 8, "triad4x4": 16}

module = wb.module("gpu-how-it-works/axpy.cu")


def kernel(name: str, per_thread: int, n: int, block: int = 256) -> Callable[..., None]:
    """`name` with as many blocks as n floats need."""
    function = module.get_function(name)
    grid = (max(1, -(-n // (per_thread * block))), 1)
    return lambda *arguments: function(*arguments, np.int64(n), block=(block, 1, 1), grid=grid)


def pieces(n: int, size: int = 2**20) -> list[slice]:
    """0 to n in pieces that a cache holds."""
    return [slice(i, min(n, i + size)) for i in range(0, n, size)]


# --8<-- [start:reference]
def axpy_exact(a: np.float32, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """a x + y rounded once, as a fused multiply-add does: in float64 the product is exact."""
    return (a * x.astype(np.float64) + y).astype(np.float32)


def compare(got: np.ndarray, want: np.ndarray, what: str) -> None:
    """Bit for bit, but for the rare sum that float64 rounds to a tie: there the last bit may differ."""
    for part in pieces(want.size):
        odd = np.flatnonzero(got[part] != want[part])  # NaN differs from everything
        if odd.size:
            wb.check(got[part][odd], want[part][odd], 2.0**-23 * np.abs(want[part][odd]), what=what)


# --8<-- [end:reference]


# --8<-- [start:host]
def axpy_host(a: np.float32, x: np.ndarray, y: np.ndarray, chunk: int = 2**16) -> None:
    """The same in place by NumPy, in pieces that stay in the core's cache."""
    product = np.empty(min(chunk, x.size), np.float32)
    for i in range(0, x.size, chunk):
        part = product[: min(chunk, x.size - i)]
        np.multiply(x[i : i + chunk], a, out=part)
        y[i : i + chunk] += part


# --8<-- [end:host]


def check_host(x: np.ndarray, before: np.ndarray, after: np.ndarray, sample: np.ndarray, what: str) -> None:
    """NumPy rounds the product and the sum."""
    u, v = (z[sample].astype(np.float64) for z in (x, before))
    product = A * u
    wb.check(after[sample], product + v, 2.0**-24 * (2 * np.abs(product) + np.abs(v)) + 1e-45, what=what)


def steps_exact(k: int, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """What k steps y <- SHRINK y + x come to, by the formula for a geometric sum; and a bound for all errors."""
    power = float(SHRINK) ** k
    factor = (1 - power) / (1 - float(SHRINK))
    largest = 1 + factor  # no y on the way is larger, since |x| and |y| are below 1
    return np.float32(power) * y + np.float32(factor) * x, 2.0**-24 * (min(k, 512) + 4) * largest


def signed(rng: np.random.Generator, n: int) -> np.ndarray:
    """Floats in [-1, 1)."""
    out = rng.random(n, dtype=np.float32)
    out *= 2
    out -= 1
    return out


def check_all(rng: np.random.Generator) -> None:
    for n in (1, 31, 1000, 2**16 + 3):
        x, y = signed(rng, n), signed(rng, n)
        want, bits = axpy_exact(A, x, y), x.view(np.uint32) ^ y.view(np.uint32)
        device_x = cuda.to_device(x)
        for name, per_thread in WAYS.items():
            got = y.copy()
            kernel(name, per_thread, n)(A, device_x, cuda.InOut(got))
            compare(got, want, f"{name}, n = {n}")
        for name, per_thread in YARDSTICKS.items():
            out = np.full(n, 0xFFFFFFFF, np.uint32)
            kernel(name, per_thread, n)(device_x, cuda.In(y), cuda.InOut(out))
            wb.check(out, bits, what=f"{name}, n = {n}")
        for k in STEPS if n == 1000 else (1, 8):
            got = y.copy()
            kernel(f"steps{k}", 4, n)(SHRINK, device_x, cuda.InOut(got))
            wb.check(got, *steps_exact(k, x, y), what=f"steps{k}, n = {n}")
        host = y.copy()
        axpy_host(A, x, host, chunk=1000)
        check_host(x, y, host, np.arange(n), f"NumPy, n = {n}")
        print(f"n = {n:>6,}: {len(WAYS)} kernels, {len(YARDSTICKS)} yardsticks, NumPy: right")


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: cuda.DeviceAllocation, n: int) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": (n,), "typestr": "<f4", "data": (int(address), False), "strides": None,
        }  # fmt: skip


class Stage:
    """x, y and a third array on the device; y as it was; a page-locked place to look at results."""

    def __init__(self, rng: np.random.Generator, n: int) -> None:
        self.n, self.x, self.y = n, signed(rng, n), signed(rng, n)
        self.device_x, self.before = cuda.to_device(self.x), cuda.to_device(self.y)
        self.device_y, self.device_z = (cuda.mem_alloc(4 * n) for _ in range(2))
        self.seen = cuda.pagelocked_empty(n, np.float32)
        self.sample = rng.integers(0, n, 2**20)  # what is looked at where the whole would take too long

    def restore(self, _: int = 0) -> None:
        cuda.memcpy_dtod_async(self.device_y, self.before, 4 * self.n)

    def spoil(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.device_z, 0xFFFFFFFF, self.n)

    def look(self, address: cuda.DeviceAllocation) -> np.ndarray:
        cuda.memcpy_dtoh(self.seen, address)
        return self.seen


def measure(rng: np.random.Generator, n: int) -> None:
    stage = Stage(rng, n)
    x, y, z = stage.device_x, stage.device_y, stage.device_z
    times: dict[str, wb.Timing] = {}

    bits = stage.x.view(np.uint32) ^ stage.y.view(np.uint32)
    for name, per_thread in YARDSTICKS.items():
        run = kernel(name, per_thread, n)
        times[name] = wb.time(
            lambda i, run=run: run(x, stage.before, z),
            poison=stage.spoil,
            check=lambda i, name=name: compare_bits(stage.look(z).view(np.uint32), bits, name),
        )
    if torch is not None:
        tensors = {name: torch.as_tensor(Shared(at, n), device="cuda") for name, at in
                   (("x", x), ("y", y), ("z", z), ("before", stage.before))}  # fmt: skip
        total = stage.x + stage.y
        times["torch_add"] = wb.time(
            lambda i: torch.add(tensors["x"], tensors["before"], out=tensors["z"]),
            poison=stage.spoil,
            check=lambda i: compare(stage.look(z), total, "torch.add"),
        )
    times["copy"] = wb.time(
        lambda i: cuda.memcpy_dtod_async(z, x, 4 * n),
        poison=stage.spoil,
        check=lambda i: compare_bits(stage.look(z).view(np.uint32), stage.x.view(np.uint32), "copy"),
    )

    want = np.concatenate([axpy_exact(A, stage.x[part], stage.y[part]) for part in pieces(n)])
    for name, per_thread in WAYS.items():
        run = kernel(name, per_thread, n)
        times[name] = wb.time(
            lambda i, run=run: run(A, x, y),
            poison=stage.restore,
            check=lambda i, name=name: compare(stage.look(y), want, name),
        )
    if torch is not None:
        times["torch_axpy"] = wb.time(
            lambda i: tensors["y"].add_(tensors["x"], alpha=float(A)),
            poison=stage.restore,
            check=lambda i: check_host(stage.x, stage.y, stage.look(y), stage.sample, "torch's add_"),
        )
        del tensors
    report(times, n)
    host(stage, want, times["axpy4"])
    for address in (stage.device_x, stage.before, stage.device_y, stage.device_z):
        address.free()


def compare_bits(got: np.ndarray, want: np.ndarray, what: str) -> None:
    for part in pieces(want.size):
        if not np.array_equal(got[part], want[part]):
            wb.check(got[part], want[part], what=what)


def report(times: dict[str, wb.Timing], n: int) -> None:
    """Name them all. The fastest stream of torch's or without arithmetic is the roof's slope; ours is held to it."""
    streams = [name for name in times if name in YARDSTICKS or name.startswith("torch")]
    yardstick = min(streams, key=lambda name: times[name].median)
    fastest = min(WAYS, key=lambda name: times[name].median)
    times |= {"triad": times[yardstick], "fastest": times[fastest]}
    print(f"\n{'':12}{'µs':>9}{'10 %':>9}{'90 %':>9}{'GB/s':>9}{'of roof':>9}")
    roof = 12 * n / times["triad"].median
    for name, t in times.items():
        moved = (8 if name == "copy" else 12) * n
        wb.timing(name, t, moved, 2 * n if "axpy" in name or name == "fastest" else None)
        rate = moved / t.median
        print(
            f"{name:12}{t.median * 1e6:9.1f}{t.low * 1e6:9.1f}{t.high * 1e6:9.1f}{rate / 1e9:9.0f}{rate / roof:9.1%}"
            + {"triad": f"   {yardstick}", "fastest": f"   {fastest}"}.get(name, "")
        )
    for name in ("axpy", "axpy4"):
        wb.value(f"{name}.intensity", 2 / 12, "flop/B")


def stopwatch(work: Callable[[], object], before: Callable[[], object], repeats: int) -> wb.Timing:
    """Seconds by the host's clock."""
    seconds = []
    for _ in range(repeats):
        before()
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return wb.Timing(float(np.median(seconds)), min(seconds), max(seconds), repeats)


def host(stage: Stage, want: np.ndarray, on_device: wb.Timing) -> None:
    """One core, all cores, and the device with the way there and back through ordinary memory."""
    n, y = stage.n, stage.y.copy()
    cores = len(os.sched_getaffinity(0))
    edges = [n * k // cores for k in range(cores + 1)]

    def restore() -> None:
        y[:] = stage.y

    one = stopwatch(lambda: axpy_host(A, stage.x, y), restore, 3)
    check_host(stage.x, stage.y, y, stage.sample, "NumPy on one core")
    with ThreadPoolExecutor(cores) as pool:

        def spread() -> None:
            parts = [slice(a, b) for a, b in pairwise(edges)]
            list(pool.map(lambda part: axpy_host(A, stage.x[part], y[part]), parts))

        every = stopwatch(spread, restore, 5)
    check_host(stage.x, stage.y, y, stage.sample, "NumPy on all cores")

    run = kernel("axpy4", 4, n)

    def there_and_back() -> None:
        cuda.memcpy_htod(stage.device_x, stage.x)
        cuda.memcpy_htod(stage.device_y, y)
        run(A, stage.device_x, stage.device_y)
        cuda.memcpy_dtoh(y, stage.device_y)

    through = stopwatch(there_and_back, restore, 3)
    compare(y, want, "there and back")
    wb.timing("numpy", one, 12 * n)
    wb.timing("numpy_cores", every, 12 * n)
    wb.timing("through_bus", through, 12 * n)
    wb.value("cores", cores, "count")
    for label, t in (("NumPy, one core", one), (f"NumPy, {cores} cores", every), ("device, there and back", through),
                     ("device, data is there", on_device)):  # fmt: skip
        print(f"{label:24}{t.median * 1e3:10.2f} ms")


def roofline(rng: np.random.Generator, n: int) -> None:
    """The bytes of AXPY with 1 to 512 times its arithmetic."""
    stage = Stage(rng, n)
    print()
    for k in STEPS:
        run, (want, bound) = kernel(f"steps{k}", 4, n), steps_exact(k, stage.x, stage.y)

        def check(i: int, k: int = k, want: np.ndarray = want, bound: float = bound) -> None:
            worst = np.abs(stage.look(stage.device_y) - want).max()
            if not worst <= bound:  # also of NaN
                raise AssertionError(f"steps{k}: off by {worst}, more than {bound:.3g}")

        t = wb.time(
            lambda i, run=run: run(SHRINK, stage.device_x, stage.device_y),
            poison=stage.restore,
            check=check,
            repeats=30,
        )
        wb.timing(f"steps{k}", t, 12 * n, 2 * k * n)
        wb.value(f"steps{k}.intensity", 2 * k / 12, "flop/B")
        rate, flops = 12 * n / t.median, 2 * k * n / t.median
        print(f"steps{k:<6}{t.median * 1e6:9.1f} µs{rate / 1e9:9.0f} GB/s{flops / 1e12:8.2f} TFLOP/s")


def profile(rng: np.random.Generator, n: int) -> None:
    x, y = signed(rng, n), signed(rng, n)
    want = axpy_exact(A, x, y)
    for name in ("axpy", "axpy4"):
        got = y.copy()
        kernel(name, WAYS[name], n)(A, cuda.In(x), cuda.InOut(got))
        compare(got, want, name)
        print(f"{name} at n = {n}: right")


if __name__ == "__main__":
    generator = np.random.default_rng(20261122)
    if "--profile" in sys.argv[1:]:
        profile(generator, 2**27 if GPU else 2**18)
    else:
        check_all(generator)
        if GPU:
            wb.needs(memory=5 * 2**30)
            measure(generator, 2**28)
            roofline(generator, 2**26)
        else:
            print("no GPU: nothing is timed")
