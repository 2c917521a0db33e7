"""The kernels of swin.cu, launched for maps on the device; and the sectors and bytes that each must move."""

import functools
from typing import Any

import numpy as np
import pycuda.driver as cuda
import warpbench as wb

COPIED = 256  # threads of a block of the kernels that only move


@functools.cache
def built(window: int, head: int) -> Any:
    return wb.module("swin/swin.cu", WINDOW=window, HEAD=head)


@functools.cache
def unpadded() -> Any:
    """For windows of 7: rows of the bias table directly after each other in shared memory."""
    return wb.module("swin/swin.cu", STRIDE="SIDE", window_attention="window_attention_unpadded")


class Maps:
    """Shapes, and launches of the kernels on arrays of these shapes."""

    def __init__(self, batch: int, h: int, w: int, heads: int, window: int = 7, head: int = 32, shift: int = 0,
                 module: Any = None) -> None:  # fmt: skip
        self.batch, self.h, self.w, self.heads, self.window, self.head = batch, h, w, heads, window, head
        self.shift, self.module = shift, module or built(window, head)
        self.windows, self.side = h * w // window**2, 2 * window - 1
        self.channels, self.threads = heads * head, -(-(window**2) // 32) * 32
        self.scale = np.float32(head**-0.5)
        self.qkv_shape = (batch, h, w, 3, heads, head)
        self.out_shape = (batch, h, w, heads, head)
        self.table_shape = (heads, self.side**2)
        self.lines = batch * self.windows

    def launch(self, name: str, *arguments: Any, grid: tuple[int, ...], block: tuple[int, ...]) -> None:
        exact = [np.int32(a) if isinstance(a, int) else a for a in arguments]
        self.module.get_function(name)(*exact, grid=grid, block=block)

    def attend(self, qkv: Any, table: Any, out: Any, partitioned: bool = False, name: str = "window_attention") -> None:
        grid = (self.windows, self.heads, self.batch)
        self.launch(name, qkv, table, out, self.h, self.w, self.shift, self.scale, int(partitioned), grid=grid,
                    block=(self.threads, 1, 1))  # fmt: skip

    def attend_globally(self, qkv: Any, out: Any) -> None:
        n = self.h * self.w
        grid = (-(-n // self.threads), self.heads, self.batch)
        self.launch("global_attention", qkv, out, n, self.scale, grid=grid, block=(self.threads, 1, 1))

    def move(self, name: str, source: Any, target: Any, channels: int, *more: int) -> None:
        """roll, partition or reverse: a thread per four channels."""
        count = self.batch * self.h * self.w * channels // 4
        sizes = (self.h, self.w, channels // 4, *more)
        self.launch(name, source, target, *sizes, np.uint64(count), grid=(-(-count // COPIED), 1),
                    block=(COPIED, 1, 1))  # fmt: skip

    def merge(self, source: Any, target: Any, channels: int) -> None:
        """merge_patches: a thread per four channels of two pixels, one above the other."""
        row = self.w * channels // 4
        pieces = -(-row // COPIED)
        if pieces > 65_535:
            raise ValueError(f"a row of {self.w} × {channels} floats takes {pieces} blocks; a grid's y has 65535")
        self.launch("merge_patches", source, target, row, channels // 4, grid=(self.batch * self.h // 2, pieces),
                    block=(COPIED, 1, 1))  # fmt: skip

    # --8<-- [start:backward]
    def backward(self, dout: Any, qkv: Any, table: Any, dqkv: Any, partial: Any, dtable: Any) -> None:
        """Two launches: a line of sums per window, then the sum over lines, always in the same order."""
        grid = (self.windows, self.heads, self.batch)
        self.launch("window_backward", dout, qkv, table, dqkv, partial, self.h, self.w, self.shift, self.scale,
                    grid=grid, block=(self.threads, 1, 1))  # fmt: skip
        columns = self.heads * self.side**2
        self.launch("table_backward", partial, dtable, self.lines, columns, grid=(-(-columns // 32), 1),
                    block=(32, 32, 1))  # fmt: skip

    # --8<-- [end:backward]


# --8<-- [start:chain]
CHAIN = (  # kernel, and the floats per pixel and channel that it reads and writes
    ("roll", 1, 1),
    ("partition", 1, 1),
    ("window_attention", 3, 1),
    ("reverse", 1, 1),
    ("roll", 1, 1),
)


def chain_bytes(pixels: int, channels: int) -> int:
    return 4 * pixels * channels * sum(read + written for _, read, written in CHAIN)


def fused_bytes(pixels: int, channels: int) -> int:
    return 4 * pixels * channels * (3 + 1)


def backward_bytes(maps: Maps) -> int:
    """q, k, v and dout in, three gradients out; the lines of the table's sums out and in."""
    pixels = maps.batch * maps.h * maps.w
    return 4 * (7 * pixels * maps.channels + 2 * maps.lines * maps.heads * maps.side**2)


# --8<-- [end:chain]


# --8<-- [start:sectors]
def sectors(name: str, maps: Maps) -> tuple[int, int]:
    """Sectors of 32 bytes that one launch loads and stores, by hand; a head has 32 channels, a multiple of 8."""
    of_map = maps.batch * maps.h * maps.w * maps.channels // 8
    blocks, entries = maps.lines * maps.heads, maps.side**2
    if name in ("roll", "partition", "reverse", "merge_patches"):
        return of_map, of_map
    if name == "global_attention":  # queries once, and of every block all keys and values
        n = maps.h * maps.w
        return of_map + maps.batch * -(-n // maps.threads) * n * 2 * maps.channels // 8, of_map
    table = maps.batch * maps.windows * sum(touched(head * entries, entries) for head in range(maps.heads))
    if name == "table_backward":
        columns = maps.heads * entries
        loaded = sum(touched(line * columns + c, min(32, columns - c)) for line in range(maps.lines)
                     for c in range(0, columns, 32))  # fmt: skip
        return loaded, columns
    if name == "window_backward":
        lines = sum(touched(line * entries, entries) for line in range(blocks))
        return 4 * of_map + table, 3 * of_map + lines
    return 3 * of_map + table, of_map


def touched(start: int, count: int, warp: int = 32) -> int:
    """Sectors of `count` floats from `start`, read by warps of 32 lanes."""
    pieces = [(start + i, min(start + i + warp, start + count)) for i in range(0, count, warp)]
    return sum((stop - 1) // 8 - first // 8 + 1 for first, stop in pieces)


# --8<-- [end:sectors]


def to_device(*arrays: np.ndarray) -> list[Any]:
    return [cuda.to_device(np.ascontiguousarray(a)) for a in arrays]


class Poisoned:
    """Room on the device, filled with NaN."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.count = shape, int(np.prod(shape))
        self.at = cuda.mem_alloc(4 * self.count)
        self.spoil()

    def spoil(self) -> None:
        cuda.memset_d32_async(self.at, 0xFFFFFFFF, self.count)

    def read(self) -> np.ndarray:
        found = np.empty(self.shape, np.float32)
        cuda.memcpy_dtoh(found, self.at)
        return found
