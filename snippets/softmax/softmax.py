"""Softmax of rows: three passes, two, one, and its gradient; each held against float64, then timed beside a copy.

python softmax.py             check; on a GPU also time rows of 4096, and 2^28 numbers in rows of 128 to 131072
python softmax.py --profile   launch the kernels once for a profiler: rows of 4096 and of 131072
"""

import sys
from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb

try:
    import torch
except ImportError:
    torch = None

KINDS = ("three", "online", "registers")
MOST_PACKS = 8  # a thread keeps: 32 floats in registers, and twice that in the backward pass
CHECKED = [1, 31, 128, 1000, 4096, 32768]
LONG = 131072  # rows that no cache holds until their next pass


# --8<-- [start:shape]
def shape(n: int, threads: int = 0) -> dict[str, int]:
    """Threads for a row of n, packs a thread, numbers a pack; as an H200 likes them best."""
    width = 4 if n % 4 == 0 else 1
    threads = threads or (32 if n <= 1024 else 256 if n <= 2048 else 512 if n <= 16384 else 1024)
    return {"THREADS": threads, "PACKS": -(-n // (threads * width)), "WIDTH": width}


# --8<-- [end:shape]


built: dict[tuple, object] = {}  # modules, by their shape


class Softmax:
    """The kernels for rows of n."""

    def __init__(self, n: int, threads: int = 0) -> None:
        self.n, macros = n, shape(n, threads)
        self.threads = macros["THREADS"]
        self.at_once = 8 if self.threads == 32 else 1  # rows of a block
        key = tuple(macros.values())
        if key not in built:
            built[key] = wb.module("softmax/softmax.cu", **macros)
        self.module = built[key]

    def launch(self, kind: str, *arrays: object, rows: int) -> None:
        kernel = self.module.get_function(f"softmax_{kind}")
        block, grid = (self.threads, self.at_once, 1), (-(-rows // self.at_once), 1)
        kernel(*arrays, np.int32(rows), np.int32(self.n), block=block, grid=grid)


# --8<-- [start:reference]
def reference(x: np.ndarray) -> np.ndarray:
    """The softmax of each row in float64."""
    e = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True).astype(np.float64))
    return e / e.sum(axis=-1, keepdims=True)


def bound(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How far a float32 result may be off: 1e-6 of y. Where x is more than 8 below the row's maximum, the rounding
    of x - m alone comes to as much, and the bound grows with it; below 1e-37 floats end."""
    below = x.max(axis=-1, keepdims=True).astype(np.float64) - x
    return 1e-6 * y * np.maximum(1, below / 8) + 1e-37


# --8<-- [end:reference]


def logits(rng: np.random.Generator, n: int) -> np.ndarray:
    """Rows that go wrong where something is wrong: large, equal, rising, falling, one that outweighs all."""
    rows = [
        rng.standard_normal(n) * 3,
        rng.uniform(-1e4, 1e4, n),
        np.full(n, 1e4),
        np.full(n, -1e4),
        np.linspace(-1e4, 1e4, n),
        np.linspace(50, -50, n),
        np.where(np.arange(n) == rng.integers(n), 1e4, -1e4),
    ]
    return np.array(rows, np.float32)


def check_forward(rng: np.random.Generator, n: int) -> None:
    x = logits(rng, n)
    softmax, want, worst = Softmax(n), reference(x), 0.0
    for kind in KINDS:
        y = np.full_like(x, np.nan)
        softmax.launch(kind, cuda.In(x), cuda.InOut(y), rows=len(x))
        worst = max(worst, wb.check(y, want, bound(x, want), f"{kind}, rows of {n}"))
    print(f"rows of {n:6}: {', '.join(KINDS)} within {worst:.0%} of the bound")


def check_backward(rng: np.random.Generator, n: int) -> None:
    """Against the gradient in float64, and that one against differences."""
    x = rng.standard_normal((3, n))
    dy = rng.standard_normal((3, n)).astype(np.float32)
    y = reference(x)
    want = y * (dy - (y * dy).sum(axis=-1, keepdims=True))
    way, h = rng.standard_normal((3, n)), 1e-6
    slope = ((reference(x + h * way) - reference(x - h * way)) * dy).sum() / (2 * h)
    wb.check((want * way).sum(), slope, 1e-6, "the formula of the gradient")
    got = np.full((3, n), np.nan, np.float32)
    y = y.astype(np.float32)
    Softmax(n).launch("backward", cuda.In(y), cuda.In(dy), cuda.InOut(got), rows=3)
    size = np.abs(dy).max() * y  # each of the two terms may be this large
    print(f"rows of {n:6}: backward within {wb.check(got, want, 2e-6 * size + 1e-37, 'backward'):.0%} of the bound")


class Matrix:
    """2^28 random numbers on the device, read as rows of any length, and room for results."""

    def __init__(self, rng: np.random.Generator, count: int) -> None:
        self.rng, self.count = rng, count
        self.values = rng.standard_normal(count, dtype=np.float32)
        self.values *= 3
        self.x, self.y = cuda.to_device(self.values), cuda.mem_alloc(4 * count)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.y, 0xFFFFFFFF, self.count)

    def some_rows(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The first row, the last and some others, and what the device made of them."""
        rows = self.count // n
        chosen = [0, rows - 1, *self.rng.integers(0, rows, max(1, min(64, 2**18 // n)))]
        got = np.empty((len(chosen), n), np.float32)
        for row, at in zip(got, chosen, strict=True):
            cuda.memcpy_dtoh(row, int(self.y) + 4 * n * int(at))
        return self.values.reshape(rows, n)[chosen], got

    def check(self, what: str, n: int) -> None:
        x, got = self.some_rows(n)
        want = reference(x)
        wb.check(got, want, bound(x, want) * 2, f"{what}, rows of {n}")  # torch's sums may be off by twice as much

    def time(self, what: str, n: int, launch: Callable[[int], object], repeats: int = 50) -> wb.Timing:
        return wb.time(launch, repeats=repeats, poison=self.poison, check=lambda i: self.check(what, n))


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: cuda.DeviceAllocation, shape: tuple[int, int]) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": "<f4", "data": (int(address), False), "strides": None,
        }  # fmt: skip


def by_torch(m: Matrix, n: int) -> Callable[[int], object]:
    x, y = (torch.as_tensor(Shared(a, (m.count // n, n)), device="cuda") for a in (m.x, m.y))
    return lambda i: torch.softmax(x, 1, out=y)


def by_kernel(m: Matrix, kind: str, n: int, threads: int = 0) -> Callable[[int], object]:
    softmax = Softmax(n, threads)
    return lambda i: softmax.launch(kind, m.x, m.y, rows=m.count // n)


def time_copy(m: Matrix) -> tuple[str, wb.Timing]:
    """The faster of a copy kernel and the driver's copy."""
    kernel, packs = Softmax(4096).module.get_function("copy"), m.count // 4
    ways = {
        "kernel": lambda i: kernel(m.x, m.y, np.int64(packs), block=(256, 1, 1), grid=(-(-packs // 256), 1)),
        "memcpy": lambda i: cuda.memcpy_dtod_async(m.y, m.x, 4 * m.count),
    }
    times = {}
    for way, launch in ways.items():

        def check(i: int, way: str = way) -> None:
            got = np.empty(m.count, np.float32)
            cuda.memcpy_dtoh(got, m.y)
            wb.check(np.array_equal(got, m.values), True, what=f"copy by {way}")

        times[way] = wb.time(launch, poison=m.poison, check=check)
    best = min(times, key=lambda way: times[way].median)
    return best, times[best]


def time_rows(m: Matrix, n: int) -> None:
    """The ladder at rows of n, beside copy and torch."""
    softmax, rows = Softmax(n), m.count // n
    way, copied = time_copy(m)
    times = {"copy": copied}
    for kind in KINDS:
        times[kind] = m.time(kind, n, by_kernel(m, kind, n))
    times["registers_1024"] = m.time("registers", n, by_kernel(m, "registers", n, 1024))
    if torch is not None:
        times["torch_softmax"] = m.time("torch", n, by_torch(m, n))
    print(f"\n{rows} rows of {n}\n{'':14}{'µs':>9}{'10 %':>9}{'90 %':>9}{'GB/s':>8}{'of copy':>9}")
    for name, t in times.items():
        wb.timing(name, t, 8 * m.count)
        print(
            f"{name:15}{t.median * 1e6:9.1f}{t.low * 1e6:9.1f}{t.high * 1e6:9.1f}{8 * m.count / t.median / 1e9:8.0f}"
            f"{copied.median / t.median:9.1%}" + (f"   by {way}" if name == "copy" else "")
        )
    time_backward(m, softmax, rows)


def time_backward(m: Matrix, softmax: Softmax, rows: int) -> None:
    """x stands for dy. Where y lies, dx is written, so y must be put back each time."""
    n = softmax.n
    y = cuda.mem_alloc(4 * m.count)
    softmax.launch("registers", m.x, y, rows=rows)

    def check(i: int) -> None:
        dy, got = m.some_rows(n)
        p = reference(dy)
        want = p * (dy - (p * dy).sum(axis=-1, keepdims=True))
        wb.check(got, want, 1e-5 * np.abs(dy).max() * p + 1e-37, "backward")

    t = wb.time(lambda i: softmax.launch("backward", y, m.x, m.y, rows=rows), poison=m.poison, check=check)
    wb.timing("softmax_backward", t, 12 * m.count)
    print(f"{'backward':14}{t.median * 1e6:9.1f} µs, {12 * m.count / t.median / 1e9:.0f} GB/s of 12 B an element")
    y.free()


def sweep(m: Matrix) -> None:
    """The same numbers in rows of other lengths."""
    lengths = [2**k for k in range(7, 18)]
    kinds = (*KINDS, "torch") if torch is not None else KINDS
    print(f"\nGB/s at 8 B an element\n{'rows of':>8}" + "".join(f"{kind:>12}" for kind in kinds))
    rates: dict[str, list[wb.Timing]] = {kind: [] for kind in kinds}
    for n in lengths:
        for kind in kinds:
            if kind == "registers" and shape(n)["PACKS"] > MOST_PACKS:
                continue
            launch = by_torch(m, n) if kind == "torch" else by_kernel(m, kind, n)
            rates[kind].append(m.time(kind, n, launch, repeats=15))
        told = (f"{8 * m.count / t[lengths.index(n)].median / 1e9:12.0f}" if len(t) > lengths.index(n) else f"{'':12}"
                for t in rates.values())  # fmt: skip
        print(f"{n:8}" + "".join(told))
    for kind, times in rates.items():
        wb.series(
            "torch_softmax.sweep" if kind == "torch" else f"{kind}.sweep",
            lengths[: len(times)],
            [8 * m.count / t.median for t in times],
            x_unit="count",
            unit="B/s",
            low=[8 * m.count / t.high for t in times],
            high=[8 * m.count / t.low for t in times],
        )
    for kind in ("three", "online"):
        wb.timing(f"{kind}.long", rates[kind][lengths.index(LONG)])


def profile(rng: np.random.Generator, count: int) -> None:
    """Each kernel on rows of 4096; two of them, under other names, also on rows of 131072."""
    m = Matrix(rng, count)
    for kind in KINDS:
        m.poison()
        Softmax(4096).launch(kind, m.x, m.y, rows=count // 4096)
        m.check(kind, 4096)
    renamed = {f"softmax_{kind}": f"{kind}_long" for kind in ("three", "online")}
    long = wb.module("softmax/softmax.cu", **shape(LONG), **renamed)
    for name in ("three_long", "online_long"):
        m.poison()
        threads, rows = shape(LONG)["THREADS"], count // LONG
        kernel, sizes = long.get_function(name), (np.int32(rows), np.int32(LONG))
        kernel(m.x, m.y, *sizes, block=(threads, 1, 1), grid=(rows, 1))
        m.check(name, LONG)
    print(f"softmax of {count} numbers: within the bound")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator, 2**27 if wb.is_gpu() else 2**17)
    else:
        print(f"device: {wb.device()['name']}")
        for n in CHECKED + ([7, 1001, 4097, 12345, 32767] if wb.is_gpu() else []):
            check_forward(generator, n)
        for n in (31, 1000) + ((4096, 32768) if wb.is_gpu() else ()):
            check_backward(generator, n)
        if wb.is_gpu():
            matrix = Matrix(generator, 2**28)
            time_rows(matrix, 4096)
            sweep(matrix)
        else:
            print("no GPU: nothing is timed")
