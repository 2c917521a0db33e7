"""How to launch gf14.cu, direct.cu and square.cu: what they ask for in shared memory, in layout and in shapes."""

import functools

import numpy as np
import pycuda.driver as cuda
import warpbench as wb
from _algebra import whole

G, LANES = 14, 32  # as in gf14.cu
LIMIT = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES


@functools.cache
def module(path: str, **macros: object) -> object:
    return wb.module(path, **macros)


# --8<-- [start:gf14]
class Layer14:
    """The layer on images of 14 × 14 tokens, channels last. k: taps, [14, 14, channels]."""

    def __init__(self, k: np.ndarray) -> None:
        self.channels = k.shape[2]
        self.filter = cuda.to_device((whole(k) / (G * G)).astype(np.complex64))
        self.forward, self.of_filter = (module("gfnet/gf14.cu").get_function(name) for name in ("gf14", "gf14_dk"))
        self.room = 8 * G * G * LANES  # bytes of shared memory
        for function in (self.forward, self.of_filter):
            function.set_attribute(LIMIT, self.room)

    def launch(self, x: object, y: object, images: int, adjoint: bool = False) -> None:
        sizes = np.int32(images), np.int32(self.channels), np.int32(adjoint)
        shape = {"block": (LANES, G, 1), "grid": (-(-self.channels // LANES), -(-images // 2))}
        self.forward(x, self.filter, y, *sizes, shared=self.room, **shape)

    def launch_dk(self, x: object, g: object, P: object, images: int, blocks: int) -> None:
        sizes = np.int32(images), np.int32(self.channels)
        shape = {"block": (LANES, G, 1), "grid": (-(-self.channels // LANES), blocks)}
        self.of_filter(x, g, P, *sizes, shared=self.room, **shape)

    # --8<-- [end:gf14]

    def __call__(self, x: np.ndarray, adjoint: bool = False) -> np.ndarray:
        """y for x: [images, 14, 14, channels] of float32."""
        y = np.full(x.shape, np.nan, np.float32)
        self.launch(cuda.In(np.ascontiguousarray(x, np.float32)), cuda.InOut(y), len(x), adjoint)
        return y

    def dk(self, x: np.ndarray, g: np.ndarray, blocks: int = 3) -> np.ndarray:
        """What `from_pairs` takes."""
        P = np.full((blocks, G, G, self.channels), np.nan, np.complex64)
        self.launch_dk(
            cuda.In(np.ascontiguousarray(x, np.float32)),
            cuda.In(np.ascontiguousarray(g)),
            cuda.InOut(P),
            len(x),
            blocks,
        )
        return P


class Direct:
    """Circular convolution of planes by its definition. k: [channels, H, W]."""

    def __init__(self, k: np.ndarray, dtype: type = np.float32) -> None:
        self.channels, self.H, self.W = k.shape
        self.dtype = np.dtype(dtype)
        self.taps = cuda.to_device(np.ascontiguousarray(k, self.dtype))
        wide = [s for s in range(1, 17) if self.W % s == 0]
        strip = max((s for s in wide if self.H * self.W // s >= 64), default=1)  # long strips, but two warps at least
        self.threads = min(256, -(-self.H * self.W // strip // 32) * 32)
        real = {"float32": "float", "float64": "double"}[self.dtype.name]
        self.function = module("gfnet/direct.cu", REAL=real, STRIP=strip).get_function("direct")
        self.room = self.dtype.itemsize * self.H * (2 * self.W + 1 + self.W)
        self.function.set_attribute(LIMIT, self.room)

    def launch(self, x: object, y: object, images: int) -> None:
        sizes = np.int32(self.channels), np.int32(self.H), np.int32(self.W)
        grid = (images * self.channels, 1)
        self.function(x, self.taps, y, *sizes, block=(self.threads, 1, 1), grid=grid, shared=self.room)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """y for x: [images, channels, H, W]."""
        y = np.full(x.shape, np.nan, self.dtype)
        self.launch(cuda.In(np.ascontiguousarray(x, self.dtype)), cuda.InOut(y), len(x))
        return y


def bits_reversed(side: int) -> np.ndarray:
    """Where the kernel keeps which frequency."""
    bits = side.bit_length() - 1
    return np.array([int(f"{i:0{bits}b}"[::-1], 2) for i in range(side)])


class Square:
    """The layer on planes whose side is a power of two. k: [channels, side, side]."""

    def __init__(self, k: np.ndarray) -> None:
        self.channels, self.side = k.shape[:2]
        self.order = bits_reversed(self.side)
        spectrum = np.fft.fft2(k)[:, self.order][:, :, self.order] / self.side**2
        self.filter = cuda.to_device(np.ascontiguousarray(spectrum, np.complex64))
        self.turns = cuda.to_device(np.exp(-2j * np.pi * np.arange(self.side) / self.side).astype(np.complex64))
        self.function = module("gfnet/square.cu", SIDE=self.side).get_function("square")
        self.threads = min(512, self.side**2 // 2)

    def launch(self, x: object, y: object, images: int) -> None:
        sizes = np.int32(images), np.int32(self.channels)
        grid = (-(-images // 2) * self.channels, 1)
        self.function(x, self.filter, y, self.turns, *sizes, block=(self.threads, 1, 1), grid=grid)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """y for x: [images, channels, side, side] of float32."""
        y = np.full(x.shape, np.nan, np.float32)
        self.launch(cuda.In(np.ascontiguousarray(x, np.float32)), cuda.InOut(y), len(x))
        return y
