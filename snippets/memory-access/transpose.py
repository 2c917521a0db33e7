"""Climb the ladder of transpose.cu: check every rung, then time it against a copy and against torch's transpose.

python transpose.py             check; on a GPU also time 8192 × 8192 floats and 8192 × 4096
python transpose.py --profile   launch each rung once for a profiler: 4096 × 4096 (softcuda: 256 × 256)
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

RUNGS = ("naive", "tiled", "padded", "swizzled", "serial", "wide")  # serial: swizzled, as it was first written
TILE, ROWS = 32, 8  # of the first four rungs: words a side, rows of threads
WIDE, THREADS = 64, 256  # of the last rung: words a side of its tile
AWKWARD = [(1, 1), (1, 31), (31, 1), (3, 5), (33, 65), (31, 1000), (1000, 31), (100, 204), (129, 68), (256, 64)]


class Matrix:
    """A random matrix on the device, room for its transpose, and what that ought to be."""

    def __init__(self, rng: np.random.Generator, rows: int, cols: int) -> None:
        self.rows, self.cols, self.n = rows, cols, rows * cols
        self.values = rng.integers(0, 2**32, (rows, cols), np.uint32)  # any bits will do: nothing is computed
        self.turned = turned(self.values)
        self.source = cuda.to_device(self.values)
        self.out = cuda.mem_alloc(4 * self.n)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.out, 0xDEADBEEF, self.n)

    def result(self, rows: int, cols: int) -> np.ndarray:
        got = np.empty((rows, cols), np.uint32)
        cuda.memcpy_dtoh(got, self.out)
        return got

    def check(self, what: str) -> None:
        wb.check(self.result(self.cols, self.rows), self.turned, what=f"{what} of {self.rows} × {self.cols}")

    def free(self) -> None:
        self.source.free(), self.out.free()


def turned(values: np.ndarray, side: int = 256) -> np.ndarray:
    """values.T, piece by piece: NumPy's caches like a tile, too."""
    out = np.empty(values.shape[::-1], values.dtype)
    for r in range(0, values.shape[0], side):
        for c in range(0, values.shape[1], side):
            out[c : c + side, r : r + side] = values[r : r + side, c : c + side].T
    return out


class Transposer:
    def __init__(self) -> None:
        self.module = wb.module("memory-access/transpose.cu")
        self.kernels = {rung: self.module.get_function(f"transpose_{rung}") for rung in RUNGS}

    # --8<-- [start:launch]
    def launch(self, rung: str, m: Matrix) -> None:
        if rung == "wide":
            block, grid = (THREADS, 1, 1), (-(-m.rows // WIDE), -(-m.cols // WIDE))
        else:
            block, grid = (TILE, ROWS, 1), (-(-m.cols // TILE), -(-m.rows // TILE))
        self.kernels[rung](m.source, m.out, np.int32(m.rows), np.int32(m.cols), block=block, grid=grid)

    # --8<-- [end:launch]

    def copies(self, m: Matrix) -> dict[str, Callable[[int], None]]:
        """Ways to copy the matrix: a kernel and the driver."""
        packs, blocks = np.int64(m.n // 4), -(-m.n // (4 * 256))

        kernel = self.module.get_function("copy")
        return {
            "kernel": lambda i: kernel(m.source, m.out, packs, block=(256, 1, 1), grid=(blocks, 1)),
            "memcpy": lambda i: cuda.memcpy_dtod_async(m.out, m.source, 4 * m.n),
        }


def check_all(transposer: Transposer, rng: np.random.Generator, shapes: list[tuple[int, int]]) -> None:
    for rows, cols in shapes:
        m = Matrix(rng, rows, cols)
        for rung in RUNGS:
            m.poison()
            transposer.launch(rung, m)
            m.check(rung)
        m.free()
    print(f"{len(RUNGS)} rungs at {', '.join(f'{r} × {c}' for r, c in shapes)}: exact")


def best_copy(transposer: Transposer, m: Matrix) -> tuple[str, wb.Timing]:
    times = {}
    for way, launch in transposer.copies(m).items():

        def check(i: int, way: str = way) -> None:
            wb.check(m.result(m.rows, m.cols), m.values, what=way)

        times[way] = wb.time(launch, poison=m.poison, check=check)
    best = min(times, key=lambda way: times[way].median)
    return best, times[best]


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: cuda.DeviceAllocation, shape: tuple[int, int]) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": "<f4", "data": (int(address), False), "strides": None,
        }  # fmt: skip


def time_all(transposer: Transposer, rng: np.random.Generator, rows: int, cols: int, tag: str) -> None:
    m = Matrix(rng, rows, cols)
    moved = 2 * 4 * m.n
    way, copied = best_copy(transposer, m)
    times = {f"copy{tag}": copied}
    for rung in RUNGS:
        times[rung + tag] = wb.time(
            lambda i, rung=rung: transposer.launch(rung, m),
            poison=m.poison,
            check=lambda i, rung=rung: m.check(rung),
        )
    if torch is not None:
        source = torch.as_tensor(Shared(m.source, (rows, cols)), device="cuda")
        target = torch.as_tensor(Shared(m.out, (cols, rows)), device="cuda")
        times[f"torch{tag}"] = wb.time(
            lambda i: target.copy_(source.t()), poison=m.poison, check=lambda i: m.check("torch")
        )
        del source, target
    print(f"\n{rows} × {cols}\n{'':16}{'µs':>8}{'10 %':>8}{'90 %':>8}{'GB/s':>8}{'of copy':>9}")
    for name, t in times.items():
        wb.timing(name, t, moved)
        print(
            f"{name:16}{t.median * 1e6:8.1f}{t.low * 1e6:8.1f}{t.high * 1e6:8.1f}{moved / t.median / 1e9:8.0f}"
            f"{copied.median / t.median:9.1%}" + (f"   by {way}" if name.startswith("copy") else "")
        )
    if not tag:
        wb.value("naive.words", m.n / times["naive"].median, "1/s")
    m.free()


def profile(transposer: Transposer, rng: np.random.Generator, side: int) -> None:
    """The copy and each rung once, on a matrix that the L2 does not hold."""
    m = Matrix(rng, side, side)
    m.poison()
    transposer.copies(m)["kernel"](0)
    wb.check(m.result(side, side), m.values, what="copy")
    for rung in RUNGS:
        m.poison()
        transposer.launch(rung, m)
        m.check(rung)
        print(f"transpose_{rung} of {side} × {side}: exact")


if __name__ == "__main__":
    generator = np.random.default_rng()
    transposer = Transposer()
    if "--profile" in sys.argv[1:]:
        profile(transposer, generator, 4096 if wb.is_gpu() else 256)
    else:
        print(f"device: {wb.device()['name']}")
        check_all(transposer, generator, AWKWARD + ([(4093, 2049), (2052, 4100)] if wb.is_gpu() else []))
        if wb.is_gpu():
            time_all(transposer, generator, 8192, 8192, "")
            time_all(transposer, generator, 8192, 4096, ".oblong")
        else:
            print("no GPU: nothing is timed")
