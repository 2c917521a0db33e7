"""Climb the ladder of fft.cu: check every rung at every size, then time it against a copy and against torch.fft.

python fft.py             check; on a GPU also time 1024 images of 256 × 256
python fft.py --profile   launch each rung once for a profiler, columns first: 128 images of 256 × 256 (softcuda: one)
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

SIZES = (2, 4, 8, 16, 32, 64, 128, 256)
RUNGS = ("dft", "radix2", "tiled", "swizzled", "radix16", "cluster")
SHARE = 8  # blocks of a cluster, as in fft.cu


def turns(n: int) -> np.ndarray:
    """exp(-2πi k / n), from float64."""
    return np.exp(-2j * np.pi * np.arange(n) / n).astype(np.complex64)


class Images:
    """Random complex images on the device, room for their spectra, and what these ought to be."""

    def __init__(self, rng: np.random.Generator, n: int, count: int, distinct: int = 64) -> None:
        """Of many images only the first `distinct` differ: an FFT takes as long for one as for another."""
        self.n, self.count = n, count
        some = rng.standard_normal((min(count, distinct), n, n, 2), np.float32).view(np.complex64)[..., 0]
        self.values = np.resize(some, (count, n, n))
        self.spectra = np.fft.fft2(some.astype(np.complex128))
        self.source = cuda.to_device(self.values)
        self.out = cuda.mem_alloc(self.values.nbytes)
        self.turns = cuda.to_device(turns(n))

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, self.values.nbytes // 4)

    def result(self) -> np.ndarray:
        got = np.empty_like(self.values)
        cuda.memcpy_dtoh(got, self.out)
        return got

    def check(self, what: str) -> float:
        """Every output within 1e-5 of the spectrum's root mean square, n for these images; returns the worst share."""
        got, size, worst = self.result(), len(self.spectra), 0.0
        for i in range(0, self.count, size):
            part = got[i : i + size]
            error = np.abs(part - self.spectra[: len(part)].astype(np.complex64)).max()
            if not error <= 0.5e-5 * self.n:  # NaN too; the careful comparison says where
                wb.check(part, self.spectra[: len(part)], 1e-5 * self.n, f"{what} of {self.n} × {self.n}")
            worst = max(worst, float(error) / self.n)
        return worst

    def free(self) -> None:
        self.source.free(), self.out.free(), self.turns.free()


class Transform:
    """The rungs that there are for images of n × n, and how to launch them."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.module = wb.module("gfnet/fft.cu", SIDE=n)
        root = {16: 4, 64: 8, 256: 16}.get(n, 0)
        lines = min(n, 16)
        most = min(lines * n // 2, 256)
        shapes = {"dft": (1, n), "radix2": (1, n // 2), "tiled": (lines, most), "swizzled": (lines, most)}
        if root:
            shapes["radix16"] = lines, lines * root
        if n == 256 and cuda.Context.get_device().compute_capability() >= (9, 0):
            own = n // SHARE
            self.room = 8 * own * (root * (root + 1) + 1)  # bytes of a block's exchange
            shapes["cluster"] = own, own * root
        self.shapes = shapes  # lines and threads a block
        self.kernels = {rung: self.module.get_function(f"fft_{rung}") for rung in shapes}
        if "cluster" in shapes:
            limit = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.kernels["cluster"].set_attribute(limit, self.room)

    # --8<-- [start:launch]
    def fft2_radix2(self, rung: str, images: Images, only: str = "") -> None:
        """Enqueue the transform of all images: columns first, then rows, in place; or only one of the two."""
        kernel, (lines, threads) = self.kernels[rung], self.shapes[rung]
        block, grid = (threads, 1, 1), (images.count * self.n // lines, 1)
        if rung == "cluster":
            kernel(images.source, images.out, images.turns, block=block, grid=grid, shared=self.room)
            return
        one, n = np.int32(1), np.int32(self.n)
        if only != "rows":
            kernel(images.source, images.out, images.turns, one, n, block=block, grid=grid)
        if only != "columns":
            half = images.source if only else images.out
            kernel(half, images.out, images.turns, n, one, block=block, grid=grid)

    # --8<-- [end:launch]

    def copies(self, images: Images) -> dict[str, Callable[[int], None]]:
        """Ways to copy the images: a kernel and the driver."""
        kernel, packs = self.module.get_function("copy"), images.values.nbytes // 16
        grid = (-(-packs // 1024), 1)
        return {
            "kernel": lambda i: kernel(images.source, images.out, np.int64(packs), block=(256, 1, 1), grid=grid),
            "memcpy": lambda i: cuda.memcpy_dtod_async(images.out, images.source, images.values.nbytes),
        }


def check_all(rng: np.random.Generator) -> None:
    for n in SIZES:
        transform, images = Transform(n), Images(rng, n, 1 if n == 256 and not wb.is_gpu() else 3)
        for rung in transform.shapes:
            images.poison()
            transform.fft2_radix2(rung, images)
            images.check(rung)
        images.free()
        print(f"{n:4} × {n:<4} {', '.join(transform.shapes)}: within 1e-5")


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: cuda.DeviceAllocation, shape: tuple[int, ...]) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": "<c8", "data": (int(address), False), "strides": None,
        }  # fmt: skip


def time_all(rng: np.random.Generator, n: int, count: int) -> None:
    transform, images = Transform(n), Images(rng, n, count)
    moved, flop = 2 * images.values.nbytes, count * n * n * 5 * 2 * (n.bit_length() - 1)
    times = {}
    for way, launch in transform.copies(images).items():

        def same(i: int, way: str = way) -> None:
            if not np.array_equal(images.result(), images.values):
                raise AssertionError(f"copy by {way}: not the same")

        times[way] = wb.time(launch, poison=images.poison, check=same)
    way = min(times, key=lambda way: times[way].median)
    times = {"copy": times[way]}
    for rung in transform.shapes:
        times[rung] = wb.time(
            lambda i, rung=rung: transform.fft2_radix2(rung, images),
            repeats=10 if rung == "dft" else 30,
            poison=images.poison,
            check=lambda i, rung=rung: images.check(rung),
        )
    for rung in ("radix2", "tiled", "swizzled", "radix16"):  # each pass alone; together they have been checked
        for only in ("columns", "rows"):
            images.poison()
            t = wb.time(lambda i, rung=rung, only=only: transform.fft2_radix2(rung, images, only), repeats=20)
            wb.timing(f"{rung}.{only}", t)
    if torch is not None:
        source = torch.as_tensor(Shared(images.source, images.values.shape), device="cuda")
        target = torch.as_tensor(Shared(images.out, images.values.shape), device="cuda")
        torch.fft.fft2(source, out=target)
        images.check("torch")
        times["torch"] = wb.time(lambda i: torch.fft.fft2(source), repeats=30)
        del source, target
    print(f"\n{count} images of {n} × {n}\n{'':16}{'µs':>9}{'10 %':>9}{'90 %':>9}{'GB/s':>8}{'of copy':>9}")
    for name, t in times.items():
        wb.timing(name, t, moved, None if name == "copy" else flop)
        print(
            f"{name:16}{t.median * 1e6:9.1f}{t.low * 1e6:9.1f}{t.high * 1e6:9.1f}{moved / t.median / 1e9:8.0f}"
            f"{times['copy'].median / t.median:9.1%}" + (f"   by {way}" if name == "copy" else "")
        )
    images.free()


def profile(rng: np.random.Generator, count: int) -> None:
    """Each rung once."""
    transform, images = Transform(256), Images(rng, 256, count)
    for rung in transform.shapes:
        images.poison()
        transform.fft2_radix2(rung, images)
        images.check(rung)
        print(f"fft_{rung}: {count} images of 256 × 256, right")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator, 128 if wb.is_gpu() else 1)
    else:
        print(f"device: {wb.device()['name']}")
        check_all(generator)
        if wb.is_gpu():
            time_all(generator, 256, 1024)
        else:
            print("no GPU: nothing is timed")
