"""Weights for channels (squeeze and excitation) and for single numbers (SimAM), against float64; then their times.

python channel.py             check; on a GPU also time 128 images of 256 channels of 56 × 56
python channel.py --profile   launch each kernel once for a profiler
"""

import sys
from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK, LAMBDA = 256, 1e-4
SHAPES = [(1, 1, 2, 1), (2, 16, 49, 4), (3, 40, 1000, 16)]  # images, channels, numbers of a plane, reduction


# --8<-- [start:reference]
def se(x: np.ndarray, down: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Squeeze: one number a channel. Excite: two small layers. Scale. x is images × channels × size."""
    mean = x.mean(-1)
    gate = 1 / (1 + np.exp(-np.maximum(mean @ down.T, 0) @ up.T))
    return x * gate[..., None]


def simam(x: np.ndarray, penalty: float = LAMBDA) -> np.ndarray:
    """Each number times the sigmoid of 1/energy, with the statistics of the whole plane."""
    away = x - x.mean(-1, keepdims=True)
    variance = (away**2).sum(-1, keepdims=True) / (x.shape[-1] - 1)
    return x / (1 + np.exp(-(away**2 / (4 * (variance + penalty)) + 0.5)))


# --8<-- [end:reference]


class Images:
    """Random planes around means of their own, the small layers of SE, and room for results."""

    def __init__(self, rng: np.random.Generator, images: int, channels: int, size: int, reduction: int) -> None:
        self.images, self.channels, self.size, self.fewer = images, channels, size, max(1, channels // reduction)
        self.x = rng.standard_normal((images, channels, size), dtype=np.float32)
        self.x += rng.standard_normal((images, channels, 1), dtype=np.float32)
        self.down = rng.standard_normal((self.fewer, channels)).astype(np.float32)
        self.up = rng.standard_normal((channels, self.fewer)).astype(np.float32)
        planes = images * channels
        self.on_device = [cuda.to_device(a) for a in (self.x, self.down, self.up)]
        self.mean, self.gate, self.y = (cuda.mem_alloc(4 * n) for n in (planes, planes, self.x.size))
        self.module = wb.module("attention-variants/channel.cu", BLOCK=BLOCK)

    def poison(self, _: int = 0) -> None:
        for buffer, n in ((self.mean, self.images * self.channels), (self.gate, self.images * self.channels)):
            cuda.memset_d32_async(buffer, 0xFFFFFFFF, n)
        cuda.memset_d32_async(self.y, 0xFFFFFFFF, self.x.size)

    # --8<-- [start:launch]
    def se(self, _: int = 0) -> None:
        squeeze, excite, scale = (self.module.get_function(f"se_{name}") for name in ("squeeze", "excite", "scale"))
        (x, down, up), planes, size = self.on_device, self.images * self.channels, np.int32(self.size)
        squeeze(x, self.mean, size, block=(BLOCK, 1, 1), grid=(planes, 1))
        sizes = np.int32(self.channels), np.int32(self.fewer)
        small = {"block": (BLOCK, 1, 1), "grid": (self.images, 1), "shared": 4 * self.fewer}
        excite(self.mean, down, up, self.gate, *sizes, **small)
        scale(x, self.gate, self.y, size, block=(BLOCK, 1, 1), grid=(planes, 1))

    def simam(self, _: int = 0) -> None:
        kernel, planes = self.module.get_function("simam"), self.images * self.channels
        sizes = np.int32(self.size), np.float32(LAMBDA)
        kernel(self.on_device[0], self.y, *sizes, block=(BLOCK, 1, 1), grid=(planes, 1))

    # --8<-- [end:launch]

    def copy(self, _: int = 0) -> None:
        cuda.memcpy_dtod_async(self.y, self.on_device[0], self.x.nbytes)

    def check(self, name: str) -> float:
        """Some images in float64, and that no number of the others was left out."""
        some = sorted({0, self.images // 2, self.images - 1})
        got, x = np.empty_like(self.x), self.x[some].astype(np.float64)
        cuda.memcpy_dtoh(got, self.y)
        if not np.isfinite(got).all():
            raise AssertionError(f"{name}: some numbers were not written")
        want = {"se": lambda: se(x, self.down, self.up), "simam": lambda: simam(x), "copy": lambda: x}[name]()
        return wb.check(got[some], want, 2e-5 * (1 + np.abs(x)), name)

    def free(self) -> None:
        for buffer in (*self.on_device, self.mean, self.gate, self.y):
            buffer.free()


def run(images: Images, name: str) -> float:
    images.poison()
    getattr(images, name)()
    return images.check(name)


def time_all(rng: np.random.Generator) -> None:
    images = Images(rng, 128, 256, 56 * 56, 16)
    print(f"\n{images.x.nbytes / 2**20:.0f} MiB")
    for name in ("copy", "se", "simam"):
        launch: Callable[[int], None] = getattr(images, name)
        t = wb.time(launch, repeats=25, poison=images.poison, check=lambda i, name=name: images.check(name))
        wb.timing(f"channel_{name}", t, 2 * images.x.nbytes)
        print(f"{name:8}{t.median * 1e6:9.1f} µs")
    images.free()


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        several = Images(generator, *((64, 256, 56 * 56, 16) if wb.is_gpu() else (2, 8, 56 * 56, 4)))
        for name in ("se", "simam"):
            run(several, name)
            print(f"{name}: within the bound")
    else:
        print(f"device: {wb.device()['name']}")
        for shape in SHAPES:
            worst = max(run(Images(generator, *shape), name) for name in ("se", "simam"))
            print(f"{shape[0]} images of {shape[1]} planes of {shape[2]}: se and simam within {worst:.0%} of the bound")
        if wb.is_gpu():
            time_all(generator)
        else:
            print("no GPU: nothing is timed")
