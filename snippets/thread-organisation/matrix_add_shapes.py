"""Add two matrices with blocks of many shapes: which are slow, and is it what the addresses say?

python matrix_add_shapes.py             check; on a GPU also time 16384 columns × 8192 rows of int32, 512 MiB each
python matrix_add_shapes.py --profile   launch each shape of the page once, for a profiler
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from pycuda.compiler import SourceModule

try:
    import torch
except ImportError:
    torch = None

FILE, VARIANTS = "thread-organisation/add.cu", "thread-organisation/variants.cu"

WIDTHS = [(256 // h, h) for h in (1, 2, 4, 8, 16, 32, 64, 128, 256)]  # 256 threads in every shape
LINES = [(x, 1) for x in (32, 33, 48, 64, 96, 128, 192, 256, 512, 768, 1024)]
STAYING = [(x, 1) for x in (32, 64, 128, 256, 512, 1024)]  # no more blocks than fit, each over many rows
SHAPES = list(dict.fromkeys([*WIDTHS, *LINES, (32, 32)]))
COUNTED = [*WIDTHS, (32, 1), (33, 1), (48, 1), (768, 1), (1024, 1), (32, 32)]

# --8<-- [start:model]
DRAM, L2, LATENCY = 4.2e12, 9.0e12, 600e-9  # bytes a second, bytes a second, seconds: assumed for an H200
SMS, WARPS, BLOCKS = 132, 64, 32  # SMs; at most so many warps and blocks on each


def sectors(x: int, y: int, nx: int, size: int = 32) -> tuple[int, int]:
    """Requests, and sectors of 32 bytes they touch, when eight neighbouring blocks of x × y read nx columns of ints."""
    requests = touched = 0
    thread = np.arange(x * y)
    for block in range(8):
        element = thread // x * nx + block * x + thread % x  # threads are numbered along x
        for first in range(0, x * y, 32):
            requests += 1
            touched += len(np.unique(4 * element[first : first + 32] // size))
    return requests, touched


def resident(threads: int) -> int:
    """Threads on an SM when blocks have so many, and registers and shared memory suffice."""
    return threads * min(BLOCKS, WARPS // -(-threads // 32))


def rate(x: int, y: int, nx: int) -> float:
    """Bytes of matrices a second, by the tightest of three limits. An element is 12 bytes: two loads and a store."""
    elements = 8 * x * y
    by_memory = DRAM / 12
    by_l2 = L2 / (3 * 32 * sectors(x, y, nx)[1] / elements)
    in_flight = SMS * resident(x * y) / LATENCY  # Little's law: a thread adds one element every 600 ns
    return 12 * min(by_memory, by_l2, in_flight)


# --8<-- [end:model]


def name(x: int, y: int) -> str:
    return f"add_{x}x{y}"


def grid(x: int, y: int, nx: int, ny: int) -> tuple[int, int]:
    return -(-nx // x), -(-ny // y)


def spoil(buffer: cuda.DeviceAllocation, n: int) -> None:
    cuda.memset_d32_async(buffer, 0x80000000, n)  # no sum of the numbers below is that low


def compare(got: np.ndarray, want: np.ndarray, what: str) -> None:
    """As wb.check, but quick when all is well: half a gigabyte is compared in pieces that fit a cache."""
    a, b, step = got.reshape(-1), want.reshape(-1), 2**18
    if not all((a[i : i + step] == b[i : i + step]).all() for i in range(0, b.size, step)):
        wb.check(got, want, what=what)


class Matrices:
    """Fresh a and b on the device, room for c, and the sum."""

    def __init__(self, rng: np.random.Generator, nx: int, ny: int) -> None:
        self.nx, self.ny, self.n = nx, ny, nx * ny
        a, b = (rng.integers(-(2**30), 2**30, (ny, nx), dtype=np.int32) for _ in range(2))
        self.want, self.first = a + b, a
        self.a, self.b, self.c = cuda.to_device(a), cuda.to_device(b), cuda.mem_alloc(a.nbytes)
        self.got = cuda.pagelocked_empty((ny, nx), np.int32)

    def launch(self, kernel: cuda.Function, x: int, y: int, high: int = 2**16 - 1) -> None:
        """In a grid of at most `high` rows of blocks."""
        sizes, (gx, gy) = (np.int32(self.nx), np.int32(self.ny)), grid(x, y, self.nx, self.ny)
        kernel(self.a, self.b, self.c, *sizes, block=(x, y, 1), grid=(gx, min(gy, high)))

    def check(self, what: str) -> None:
        cuda.memcpy_dtoh(self.got, self.c)
        compare(self.got, self.want, what)

    def free(self) -> None:
        for buffer in (self.a, self.b, self.c):
            buffer.free()


def check_all(rng: np.random.Generator, sizes: list[tuple[int, int]]) -> None:
    kernels = [
        wb.module(FILE).get_function("matrix_add"),
        wb.module(VARIANTS).get_function("matrix_add_tall"),
    ]
    for nx, ny in sizes:
        m = Matrices(rng, nx, ny)
        for x, y in SHAPES:
            for kernel in kernels:
                spoil(m.c, m.n)
                m.launch(kernel, x, y)
                m.check(f"{nx} × {ny} in blocks of {x} × {y}")
        print(f"{nx:6} × {ny:<6} exact in {len(SHAPES)} block shapes")


def copied_well(m: Matrices) -> None:
    cuda.memcpy_dtoh(m.got, m.c)
    compare(m.got, m.first, "copy")


def time_births(m: Matrices, times: dict[tuple[int, int], wb.Timing]) -> None:
    """Seconds that pass from the start of a block to the start of the next, where nothing else is the limit."""
    kernel, out = wb.module(VARIANTS).get_function("born"), cuda.mem_alloc(4)
    gx, gy = grid(32, 1, m.nx, m.ny)

    def check(i: int) -> None:
        got = np.empty(1, np.int32)
        cuda.memcpy_dtoh(got, out)
        wb.check(int(got[0]), gx * gy, what="blocks")

    times[0, 0] = wb.time(
        lambda i: kernel(out, block=(32, 1, 1), grid=(gx, gy)), poison=lambda i: spoil(out, 1), check=check
    )
    print(f"\n{'':12}{'blocks':>9}{'µs':>9}{'ns a block':>12}")
    for (x, y), what in (((0, 0), "empty"), *(((x, 1), f"{x} × 1") for x in (32, 33, 48, 64, 96, 128, 256))):
        count = int(np.prod(grid(x or 32, y or 1, m.nx, m.ny)))
        t = times[x, y]
        wb.value(f"birth_{x or 'empty'}.time", t.median / count, "s", (t.low / count, t.high / count))
        print(f"{what:>12}{count:9}{t.median * 1e6:9.1f}{t.median / count * 1e9:12.3f}")


def time_staying(m: Matrices) -> None:
    """matrix_add_tall with no more blocks than fit the device: none is born while others work."""
    kernel, nbytes = wb.module(VARIANTS).get_function("matrix_add_tall"), 12 * m.n
    sms = cuda.Context.get_device().multiprocessor_count
    rates = []
    print("\nblocks that stay")
    for x, y in STAYING:
        high = max(1, sms * resident(x * y) // (x * y) // grid(x, y, m.nx, m.ny)[0])
        t = wb.time(
            lambda i, x=x, y=y, high=high: m.launch(kernel, x, y, high),
            poison=lambda i: spoil(m.c, m.n),
            check=lambda i, x=x, y=y: m.check(f"matrix_add_tall in blocks of {x} × {y} that stay"),
        )
        wb.timing(f"stay_{x}x{y}", t, nbytes)
        rates.append([nbytes / s for s in (t.median, t.high, t.low)])
        print(f"{x:6} × {y:<3}{t.median * 1e6:9.1f}{nbytes / t.median / 1e9:8.0f}{rate(x, y, m.nx) / 1e9:11.0f}")
    median, low, high = zip(*rates, strict=True)
    xs = [x for x, _ in STAYING]
    wb.series("stay.rate", xs, median, x_unit="count", unit="B/s", low=low, high=high)


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: cuda.DeviceAllocation, n: int) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": (n,), "typestr": "<i4", "data": (int(address), False), "strides": None,
        }  # fmt: skip


def time_all(rng: np.random.Generator, nx: int, ny: int) -> None:
    m, kernel = Matrices(rng, nx, ny), wb.module(FILE).get_function("matrix_add")
    nbytes = 12 * m.n
    times = {}

    copied = wb.time(
        lambda i: cuda.memcpy_dtod_async(m.c, m.a, 4 * m.n),
        poison=lambda i: spoil(m.c, m.n),
        check=lambda i: copied_well(m),
    )
    wb.timing("copy", copied, 8 * m.n)
    print(f"\n{'block':>12}{'µs':>9}{'GB/s':>8}{'predicted':>11}\n{'copy':>12}{copied.median * 1e6:9.1f}", end="")
    print(f"{8 * m.n / copied.median / 1e9:8.0f}")
    for x, y in SHAPES:
        t = times[x, y] = wb.time(
            lambda i, x=x, y=y: m.launch(kernel, x, y),
            poison=lambda i: spoil(m.c, m.n),
            check=lambda i, x=x, y=y: m.check(f"matrix_add in blocks of {x} × {y}"),
        )
        wb.timing(name(x, y), t, nbytes)
        print(f"{x:6} × {y:<3}{t.median * 1e6:9.1f}{nbytes / t.median / 1e9:8.0f}{rate(x, y, nx) / 1e9:11.0f}")
    if torch is not None:
        a, b, c = (torch.as_tensor(Shared(buffer, m.n), device="cuda") for buffer in (m.a, m.b, m.c))
        t = wb.time(
            lambda i: torch.add(a, b, out=c), poison=lambda i: spoil(m.c, m.n), check=lambda i: m.check("torch.add")
        )
        wb.timing("torch", t, nbytes)
        print(f"{'torch.add':>12}{t.median * 1e6:9.1f}{nbytes / t.median / 1e9:8.0f}")
        del a, b, c
    for series, shapes in (("width", WIDTHS), ("line", LINES)):
        xs = [x for x, _ in shapes]
        wb.series(
            f"{series}.rate",
            xs,
            [nbytes / times[shape].median for shape in shapes],
            x_unit="count",
            unit="B/s",
            low=[nbytes / times[shape].high for shape in shapes],
            high=[nbytes / times[shape].low for shape in shapes],
        )
        wb.series(f"{series}.model", xs, [rate(*shape, nx) for shape in shapes], x_unit="count", unit="B/s")
    for x, y in ((256, 1), (8, 32), (4, 64), (2, 128), (1, 256)):  # lines of 128 bytes looked up, stores included
        lines = 3 * sectors(x, y, nx, size=128)[1] * m.n / (8 * x * y)
        wb.value(f"lines_{x}x{y}.rate", lines / times[x, y].median, "1/s")
    time_births(m, times)
    time_staying(m)
    m.free()


def profile(rng: np.random.Generator, nx: int, ny: int) -> None:
    """Each shape once, the same kernel under a name for each shape."""
    text = "".join(wb.source(FILE, matrix_add=name(x, y)) + "#undef matrix_add\n" for x, y in COUNTED)
    module = SourceModule(text, options=["-lineinfo"], no_extern_c=True)
    m = Matrices(rng, nx, ny)
    for x, y in COUNTED:
        spoil(m.c, m.n)
        m.launch(module.get_function(name(x, y)), x, y)
        m.check(name(x, y))
        print(f"{name(x, y)} of {nx} × {ny}: exact")


if __name__ == "__main__":
    generator, wide = np.random.default_rng(20261122), 16384 if wb.is_gpu() else 512
    if "--profile" in sys.argv[1:]:
        profile(generator, wide, wide // 2)
    else:
        check_all(generator, [(8, 6), (1, 1), (31, 1), (1, 31), (67, 41), (300, 2)])
        if wb.is_gpu():
            wb.needs(memory=2 * 2**30)
            time_all(generator, wide, wide // 2)
        else:
            print("no GPU: nothing is timed")
