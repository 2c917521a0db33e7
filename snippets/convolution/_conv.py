"""A convolution's shape, what is right in float64, and how the kernels of this folder are launched."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pycuda.driver as cuda
import warpbench as wb
from pycuda import compiler

U = 2.0**-24  # the largest relative error of one rounding to float
LIMIT = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES


# --8<-- [start:layer]
@dataclass(frozen=True)
class Layer:
    """Channels last: x[n][h][w][c], weights w[r][s][c][k], y[n][p][q][k]; c counts within a group."""

    n: int
    h: int
    w: int
    c: int
    k: int
    r: int = 3
    s: int = 3
    stride: int = 1
    pad: int = 0
    dilation: int = 1
    groups: int = 1

    @property
    def p(self) -> int:
        return (self.h + 2 * self.pad - self.dilation * (self.r - 1) - 1) // self.stride + 1

    @property
    def q(self) -> int:
        return (self.w + 2 * self.pad - self.dilation * (self.s - 1) - 1) // self.stride + 1

    @property
    def depth(self) -> int:
        """Products of an output."""
        return self.r * self.s * self.c // self.groups

    # --8<-- [end:layer]

    @property
    def exists(self) -> bool:
        room, reach = min(self.h - self.dilation * (self.r - 1), self.w - self.dilation * (self.s - 1)), 2 * self.pad
        return room + reach >= 1

    @property
    def outputs(self) -> int:
        return self.n * self.p * self.q

    @property
    def flop(self) -> int:
        return 2 * self.outputs * self.k * self.depth

    @property
    def x_shape(self) -> tuple[int, ...]:
        return self.n, self.h, self.w, self.c

    @property
    def w_shape(self) -> tuple[int, ...]:
        return self.r, self.s, self.c // self.groups, self.k

    @property
    def y_shape(self) -> tuple[int, ...]:
        return self.n, self.p, self.q, self.k


# --- What is right ---------------------------------------------------------------------------------------------------


# --8<-- [start:reference]
def taps(layer: Layer) -> Any:
    """Every tap, and the part of the padded input that it reads, as a slice."""
    for r in range(layer.r):
        for s in range(layer.s):
            from_h, from_w = r * layer.dilation, s * layer.dilation
            rows = slice(from_h, from_h + (layer.p - 1) * layer.stride + 1, layer.stride)
            yield r, s, (slice(None), rows, slice(from_w, from_w + (layer.q - 1) * layer.stride + 1, layer.stride))


def grouped(layer: Layer, x: np.ndarray) -> np.ndarray:
    """[group][everything else][channels of the group]"""
    return np.moveaxis(x.reshape(-1, layer.groups, x.shape[-1] // layer.groups), 1, 0)


def joined(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.moveaxis(x, 0, 1).reshape(shape)


def padded(layer: Layer, x: np.ndarray) -> np.ndarray:
    return np.pad(x.astype(np.float64), ((0, 0), (layer.pad,) * 2, (layer.pad,) * 2, (0, 0)))


def forward(layer: Layer, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    x, w = padded(layer, x), w.astype(np.float64)
    y = sum(grouped(layer, x[part]) @ grouped(layer, w[r, s]) for r, s, part in taps(layer))
    return joined(y, (len(x), *layer.y_shape[1:]))


def data_gradient(layer: Layer, dy: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Each output hands its gradient to the inputs that it read."""
    dy, w, pad = grouped(layer, dy.astype(np.float64)), w.astype(np.float64), layer.pad
    dx = np.zeros((layer.n, layer.h + 2 * pad, layer.w + 2 * pad, layer.c))
    for r, s, part in taps(layer):
        dx[part] += joined(dy @ np.swapaxes(grouped(layer, w[r, s]), 1, 2), (*layer.y_shape[:3], layer.c))
    return dx[:, pad : pad + layer.h, pad : pad + layer.w]


def weights_gradient(layer: Layer, x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    x, dy = padded(layer, x), grouped(layer, dy.astype(np.float64))
    dw = [joined(np.swapaxes(grouped(layer, x[part]), 1, 2) @ dy, layer.w_shape[2:]) for _, _, part in taps(layer)]
    return np.reshape(dw, layer.w_shape)


# --8<-- [end:reference]


# --8<-- [start:bounds]
def bound_of(layer: Layer, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """What roundings may do to y: a sum of n products rounds n + 3 times, by U of the terms so far."""
    return 1.01 * (layer.depth + 3) * U * forward(layer, np.abs(x), np.abs(w))


def bounds(layer: Layer, x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, ...]:
    """The same for y, dx and dw."""
    x, w, dy = np.abs(x), np.abs(w), np.abs(dy)
    back = layer.r * layer.s * layer.k // layer.groups
    return (
        bound_of(layer, x, w),
        1.01 * (back + 3) * U * data_gradient(layer, dy, w),
        1.01 * (layer.outputs + 3) * U * weights_gradient(layer, x, dy),
    )


# --8<-- [end:bounds]


# --- How the kernels are launched ------------------------------------------------------------------------------------


def shape_of(layer: Layer, whole: bool = False) -> np.ndarray:
    """The struct of the kernels."""
    x = layer
    sizes = (x.n, x.h, x.w, x.c, x.k, x.r, x.s, x.p, x.q, x.stride, x.pad, x.pad, x.dilation, x.groups, 1, whole)
    return np.array(sizes, np.int32)


# --8<-- [start:back]
def shape_back(layer: Layer, whole: bool = False) -> np.ndarray:
    """The convolution of dy with the flipped weights that gives dx."""
    x = layer
    pads = [x.dilation * (taps - 1) - x.pad for taps in (x.r, x.s)]
    sizes = (x.n, x.p, x.q, x.k, x.c, x.r, x.s, x.h, x.w, 1, *pads, x.dilation, x.groups, x.stride, whole)
    return np.array(sizes, np.int32)


# --8<-- [end:back]

Tile = dict[str, int]
TILE: Tile = {"BM": 128, "BN": 64, "BK": 32, "WM": 32, "WN": 64, "STAGES": 2, "MINB": 4}
WIDE: Tile = TILE | {"BN": 128, "MINB": 2}  # for products with many columns


def tile_for(columns: int) -> Tile:
    return WIDE if columns % 128 == 0 else TILE


@functools.cache
def module(path: str, **macros: Any) -> Any:
    return wb.module(f"convolution/{path}", **macros)


def shared_bytes(tile: Tile) -> int:
    return 4 * tile["STAGES"] * tile["BK"] * (tile["BM"] + 4 + tile["BN"])


def over(name: str, count: int, *arguments: Any) -> None:
    """A kernel with a thread per element."""
    module("conv.cu", **TILE).get_function(name)(*arguments, block=(256, 1, 1), grid=(-(-count // 256), 1))


def product(name: str, rows: int, columns: int, blocks: int, *arguments: Any) -> None:
    """A kernel with a tile of a matrix product per block, `blocks` such products."""
    tile = tile_for(columns)
    threads = 32 * (tile["BM"] // tile["WM"]) * (tile["BN"] // tile["WN"])
    grid = (-(-rows // tile["BM"]), -(-columns // tile["BN"]), blocks)
    shared = shared_bytes(tile)
    function = module("conv.cu", **tile).get_function(name)
    function.set_attribute(LIMIT, shared)
    function(*arguments, block=(threads, 1, 1), grid=grid, shared=shared)


# --8<-- [start:launches]
def direct(layer: Layer, x: Any, w: Any, y: Any) -> None:
    count = layer.outputs * layer.k
    over("conv_direct", count, shape_of(layer), x, w, y)


def implicit(layer: Layer, x: Any, w: Any, y: Any) -> None:
    channels, filters = layer.c // layer.groups, layer.k // layer.groups
    whole = channels % TILE["BK"] == 0 and filters % 4 == 0
    product("conv_implicit", layer.outputs, filters, layer.groups, shape_of(layer, whole), x, w, y)


def explicit(layer: Layer, x: Any, w: Any, y: Any, matrix: Any) -> None:
    """im2col, and the product of matrix and weights: a convolution with one tap."""
    count = layer.outputs * layer.groups * layer.depth
    over("im2col", count, shape_of(layer), x, matrix)
    implicit(Layer(layer.outputs, 1, 1, layer.groups * layer.depth, layer.k, 1, 1, groups=layer.groups), matrix, w, y)


def data_backward(layer: Layer, dy: Any, w: Any, dx: Any, flipped: Any) -> None:
    channels, filters = layer.c // layer.groups, layer.k // layer.groups
    over("flip", layer.depth * layer.k, shape_of(layer), w, flipped)
    shape = shape_back(layer, filters % TILE["BK"] == 0 and channels % 4 == 0)
    product("data_backward", layer.n * layer.h * layer.w, channels, layer.groups, shape, dy, flipped, dx)


def slices_of(layer: Layer) -> tuple[int, int]:
    """How many slices dw is summed in, so that the device is full, and outputs per slice."""
    filters, tile = layer.k // layer.groups, tile_for(layer.k // layer.groups)
    tiles = -(-layer.depth // tile["BM"]) * -(-filters // tile["BN"]) * layer.groups
    most = -(-layer.outputs // (4 * tile["BK"]))
    slices = max(1, min(most, 2 * tile["MINB"] * cuda.Context.get_device().multiprocessor_count // tiles))
    share = -(-layer.outputs // (slices * tile["BK"])) * tile["BK"]
    return -(-layer.outputs // share), share


def weights_backward(layer: Layer, x: Any, dy: Any, dw: Any, partial: Any) -> None:
    channels, filters = layer.c // layer.groups, layer.k // layer.groups
    slices, share = slices_of(layer)
    whole = channels % 4 == 0 and filters % 4 == 0
    arguments = shape_of(layer, whole), x, dy, partial, np.int32(share)
    product("weights_backward", layer.depth, filters, layer.groups * slices, *arguments)
    count = layer.depth * layer.k
    over("add_slices", count, partial, dw, np.int32(count), np.int32(slices))


# --8<-- [end:launches]


# --8<-- [start:winograd]
def tiles_of(layer: Layer) -> tuple[int, int]:
    return -(-layer.p // 2), -(-layer.q // 2)


def winograd_weights(layer: Layer, w: Any, U: Any) -> None:
    thread_each("winograd_weights", layer, layer.c * layer.k // 4, w, U)


def winograd(layer: Layer, x: Any, U: Any, y: Any, V: Any, M: Any) -> None:
    """The three kernels; the weights have been transformed before."""
    tiles = layer.n * tiles_of(layer)[0] * tiles_of(layer)[1]
    thread_each("winograd_input", layer, tiles * layer.c // 4, x, V)
    implicit(Layer(tiles, 1, 1, 16 * layer.c, 16 * layer.k, 1, 1, groups=16), V, U, M)
    thread_each("winograd_output", layer, tiles * layer.k // 4, M, y)


# --8<-- [end:winograd]


def thread_each(name: str, layer: Layer, count: int, *arrays: Any) -> None:
    x = layer
    sizes = np.array((x.n, x.h, x.w, x.c, x.k, x.p, x.q, x.pad, *tiles_of(x)), np.int32)
    module("winograd.cu").get_function(name)(sizes, *arrays, block=(256, 1, 1), grid=(-(-count // 256), 1))


# --8<-- [start:half]
HALF = {  # by way and columns of a tile: stages, and blocks that must fit an SM
    ("mma", 64): (4, 2),
    ("mma", 128): (3, 2),
    ("wgmma", 64): (3, 3),
    ("wgmma", 128): (3, 2),
}


def half_ways() -> tuple[str, ...]:
    return ("mma", "wgmma") if cuda.Context.get_device().compute_capability() == (9, 0) else ("mma",)


def half(way: str, layer: Layer, x: Any, w: Any, y: Any) -> None:
    """fp16; weights are [k][r][s][c]."""
    filters = layer.k // layer.groups
    columns = 128 if filters % 128 == 0 else 64
    stages, blocks = HALF[way, columns]
    macros = {"BN": columns, "STAGES": stages, "MINB": blocks}
    function = half_module("half.cu" if way == "mma" else "hopper.cu", **macros).get_function(
        "conv_half" if way == "mma" else "conv_wgmma"
    )
    shared = stages * 128 * (128 + columns)
    function.set_attribute(LIMIT, shared)
    grid = (-(-layer.outputs // 128), -(-filters // columns), layer.groups)
    function(shape_of(layer), x, w, y, block=(256, 1, 1), grid=grid, shared=shared)


# --8<-- [end:half]


@functools.cache
def half_module(path: str, **macros: Any) -> Any:
    """wgmma needs code for sm_90a. Both files include half.cuh."""
    options, arch = ["-lineinfo", f"-I{wb.ROOT / 'convolution'}"], "sm_90a" if path == "hopper.cu" else None
    image = compiler.compile(wb.source(f"convolution/{path}", **macros), options=options, arch=arch, no_extern_c=True)
    return cuda.module_from_buffer(image)


# --8<-- [start:depthwise]
def depthwise(way: str, layer: Layer, x: Any, w: Any, y: Any) -> None:
    """way: each, strip, or roll, which is for 3 x 3 with stride 1."""
    across, down = {"each": (1, 1), "strip": (4, 1), "roll": (4, 16)}[way]
    count = layer.n * -(-layer.p // down) * -(-layer.q // across) * layer.c // 4
    sizes = np.array((layer.n, layer.h, layer.w, layer.c, layer.p, layer.q, layer.pad), np.int32)
    macros = {"TAPS": layer.r, "STRIDE": layer.stride, "DILATION": layer.dilation}
    function = module("depthwise.cu", **macros).get_function(f"depthwise_{way}")
    function(sizes, x, w, y, block=(256, 1, 1), grid=(-(-count // 256), 1))


# --8<-- [end:depthwise]


# --- Arrays ----------------------------------------------------------------------------------------------------------


class Arrays:
    """Random x, w and dy; on the device also room for what the kernels write, which is NaN before each launch."""

    def __init__(self, rng: np.random.Generator, layer: Layer) -> None:
        self.layer = layer
        named = {"x": layer.x_shape, "w": layer.w_shape, "dy": layer.y_shape}
        self.host = {name: rng.standard_normal(shape, np.float32) for name, shape in named.items()}
        self.at: dict[str, Any] = {name: cuda.to_device(array) for name, array in self.host.items()}
        self.count: dict[str, int] = {}
        for name, shape in (("y", layer.y_shape), ("dx", layer.x_shape), ("dw", layer.w_shape)):
            self.room(name, int(np.prod(shape)))

    def room(self, name: str, count: int) -> Any:
        if self.count.get(name, 0) < count:
            self.at[name], self.count[name] = cuda.mem_alloc(4 * count), count
        self.poison(name)
        return self.at[name]

    def poison(self, name: str) -> None:
        cuda.memset_d32(self.at[name], 0xFFFFFFFF, self.count[name])

    def get(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        array = np.empty(shape, np.float32)
        cuda.memcpy_dtoh(array, self.at[name])
        return array

    def ways(self) -> dict[str, Any]:
        """Every forward pass that suits the layer: what launches it."""
        x, at = self.layer, self.at
        columns = x.outputs * x.groups * x.depth
        found = {
            "direct": lambda: direct(x, at["x"], at["w"], at["y"]),
            "im2col": lambda: explicit(x, at["x"], at["w"], at["y"], at["matrix"]),
            "implicit": lambda: implicit(x, at["x"], at["w"], at["y"]),
        }
        self.room("matrix", columns)
        if (x.r, x.s, x.stride, x.dilation, x.groups) == (3, 3, 1, 1, 1) and x.c % 4 == 0 and x.k % 4 == 0:
            tiles = 16 * x.n * tiles_of(x)[0] * tiles_of(x)[1]
            for name, count in (("U", 16 * x.c * x.k), ("V", tiles * x.c), ("M", tiles * x.k)):
                self.room(name, count)
            winograd_weights(x, at["w"], at["U"])
            found["winograd"] = lambda: winograd(x, at["x"], at["U"], at["y"], at["V"], at["M"])
        return found

    def gradients(self) -> dict[str, Any]:
        x, at = self.layer, self.at
        self.room("flipped", x.depth * x.k)
        self.room("partial", slices_of(x)[0] * x.depth * x.k)
        return {
            "dx": lambda: data_backward(x, at["dy"], at["w"], at["dx"], at["flipped"]),
            "dw": lambda: weights_backward(x, at["x"], at["dy"], at["dw"], at["partial"]),
        }
