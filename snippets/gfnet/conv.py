"""Circular convolution of planes: by its definition, by FFT in one launch, and by torch.fft.

python conv.py             check; on a GPU also time 8192 planes of 64 × 64, and other sides of as many numbers
python conv.py --profile   launch both kernels once for a profiler: 64 × 64, 1024 planes (softcuda: 6)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _kernels import Direct, Square

try:
    import torch
except ImportError:
    torch = None

SIDES, NUMBERS, CHANNELS = (8, 16, 32, 64), 2**25, 64  # numbers: of all planes together


class Planes:
    """Random planes and filters, and the convolution of some of them in float64."""

    def __init__(self, rng: np.random.Generator, images: int, channels: int, side: int) -> None:
        self.images = images
        self.values = rng.standard_normal((images, channels, side, side), np.float32)
        self.taps = rng.standard_normal((channels, side, side)) / side
        self.sample = np.unique(np.append(rng.integers(0, images, 2), [0, images - 1]))
        spectrum = np.fft.rfft2(self.values[self.sample].astype(np.float64)) * np.fft.rfft2(self.taps)
        self.wants = np.fft.irfft2(spectrum, s=(side, side))
        self.ways = {"direct": Direct(self.taps), "fft": Square(self.taps)}
        self.source, self.out = cuda.to_device(self.values), cuda.mem_alloc(self.values.nbytes)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, self.values.size)

    def launch(self, way: str) -> None:
        self.ways[way].launch(self.source, self.out, self.images)

    def check(self, what: str, got: np.ndarray | None = None) -> None:
        if got is None:
            got = np.empty_like(self.values)
            cuda.memcpy_dtoh(got, self.out)
        wb.check(got[self.sample], self.wants, 1e-5 * np.abs(self.wants).max(), f"{what} of {self.values.shape}")
        if not np.isfinite(got).all():
            raise AssertionError(f"{what}: not all is written")

    def free(self) -> None:
        self.source.free(), self.out.free()


def check_all(rng: np.random.Generator) -> None:
    for images, channels, side in ((3, 2, 2), (1, 1, 4), (2, 3, 8), (3, 1, 16), (5, 2, 32), (1, 1, 64)):
        planes = Planes(rng, images, channels, side)
        for way in planes.ways:
            planes.poison()
            planes.launch(way)
            planes.check(way)
        planes.free()
    print("direct and by FFT, sides 2 to 64: within 1e-5 of the largest output of float64")


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: cuda.DeviceAllocation, shape: tuple[int, ...]) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": "<f4", "data": (int(address), False), "strides": None,
        }  # fmt: skip


def time_ways(planes: Planes) -> dict[str, wb.Timing]:
    size, side = planes.values.nbytes, planes.values.shape[-1]
    times = {"copy": wb.time(lambda i: cuda.memcpy_dtod_async(planes.out, planes.source, size))}
    for way in planes.ways:
        times[way] = wb.time(
            lambda i, way=way: planes.launch(way),
            repeats=10,
            warmup=2,
            poison=planes.poison,
            check=lambda i, way=way: planes.check(way),
        )
    if torch is not None:
        x = torch.as_tensor(Shared(planes.source, planes.values.shape), device="cuda")
        K = torch.fft.rfft2(torch.tensor(planes.taps.astype(np.float32), device="cuda"))

        def by_torch(_: int = 0) -> object:
            return torch.fft.irfft2(torch.fft.rfft2(x) * K, s=(side, side))

        planes.check("torch", by_torch().cpu().numpy())
        times["torch"] = wb.time(by_torch, repeats=20)
    return times


def time_all(rng: np.random.Generator) -> None:
    curves: dict[str, list[wb.Timing]] = {}
    for side in SIDES:
        planes = Planes(rng, NUMBERS // (CHANNELS * side * side), CHANNELS, side)
        moved = 2 * planes.values.nbytes
        for name, t in time_ways(planes).items():
            curves.setdefault(name, []).append(t)
            print(f"{side:3} × {side:<3} {name:8}{t.median * 1e6:10.1f} µs{moved / t.median / 1e9:8.0f} GB/s")
            if side == SIDES[-1]:
                wb.timing(f"{name}64", t, moved, NUMBERS * 2 * side * side if name == "direct" else None)
        planes.free()
    for name, times in curves.items():  # seconds a number of the output
        each = [[getattr(t, what) / NUMBERS for t in times] for what in ("median", "low", "high")]
        wb.series(f"{name}.sweep", SIDES, each[0], x_unit="1", unit="s", low=each[1], high=each[2])


def profile(rng: np.random.Generator) -> None:
    planes = Planes(rng, 16 if wb.is_gpu() else 2, CHANNELS if wb.is_gpu() else 3, 64)
    for way in planes.ways:
        planes.poison()
        planes.launch(way)
        planes.check(way)
        print(f"{way} of {planes.values.shape}: right")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator)
    else:
        print(f"device: {wb.device()['name']}")
        check_all(generator)
        if wb.is_gpu():
            time_all(generator)
        else:
            print("no GPU: nothing is timed")
