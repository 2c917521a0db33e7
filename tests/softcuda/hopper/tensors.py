"""Tensor copies in NumPy: which element of a tensor lands where in shared memory, and what stands for those outside.

Tiles: every step-th element of the box along each dimension but the innermost.  im2col: pixels one behind the other,
each `channels` wide, from the start through the bounding box [lower, dims + upper) and on in the next image; `moved`
shifts all of them.  In shared memory a row of the innermost dimension takes its bytes, or the whole span of the
swizzle, which exchanges 16-byte parts by the address bits above the span, as wgmma's descriptors do.
"""

from __future__ import annotations

import numpy as np

from hopper.copies import SHOWN, Box
from hopper.maps import SWIZZLE_BYTES, TensorMap

OUTSIDE = 0x7FF7  # of every 16 bits, where the map asks for NaN


def tile_coordinates(made: TensorMap, box: Box) -> tuple[np.ndarray, ...]:
    """Of each element in order, innermost first."""
    steps = made.steps or (1,) * len(made.dims)
    counts = [made.box[0], *(-(-b // s) for b, s in zip(made.box[1:], steps[1:], strict=True))]
    index = np.indices(counts[::-1]).reshape(len(counts), -1)[::-1]
    scale = (1, *steps[1:])
    return tuple(box.at[d] + index[d] * scale[d] for d in range(len(counts)))


def pixel_coordinates(made: TensorMap, box: Box) -> tuple[np.ndarray, ...]:
    assert made.lower is not None
    steps = (made.steps or (1,) * len(made.dims))[1:-1]
    ends = [d + u for d, u in zip(made.dims[1:-1], made.upper, strict=True)]
    pixel, pixels = list(box.at[1:]), []
    for _ in range(made.pixels):
        pixels.append([*(p + m for p, m in zip(pixel[:-1], box.moved or (0,) * len(ends), strict=True)), pixel[-1]])
        for d, end in enumerate(ends):
            pixel[d] += steps[d]
            if pixel[d] < end:
                break
            pixel[d] = made.lower[d]
        else:
            pixel[-1] += 1
    spread = np.repeat(np.array(pixels), made.channels, axis=0).T
    return (np.tile(box.at[0] + np.arange(made.channels), made.pixels), *spread)


def correspondence(made: TensorMap, box: Box) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each byte of the box: its place in shared memory and in the tensor's buffer, and whether it is inside."""
    at = pixel_coordinates(made, box) if made.im2col else tile_coordinates(made, box)
    inside = np.logical_and.reduce([(c >= 0) & (c < d) for c, d in zip(at, made.dims, strict=True)])
    strides = (made.element, *made.strides)
    place = made.offset + sum(c.astype(np.int64) * s for c, s in zip(at, strides, strict=True))
    width, span = made.channels if made.im2col else made.box[0], SWIZZLE_BYTES[made.swizzle]
    order = np.arange(len(place))
    shared = box.shared + order // width * max(width * made.element, span) + order % width * made.element
    byte = np.arange(made.element)
    shared = (shared[:, None] + byte).reshape(-1)
    if span:
        shared = shared ^ ((shared >> 7) & span // 16 - 1) << 4
    return shared, (np.asarray(place)[:, None] + byte).reshape(-1), np.repeat(inside, made.element)


def loaded(made: TensorMap, box: Box, tensor: bytes, memory: np.ndarray) -> None:
    """Writes the box into `memory`, the bytes of shared memory."""
    shared, place, inside = correspondence(made, box)
    source = np.frombuffer(tensor, np.uint8)
    outside = np.frombuffer(OUTSIDE.to_bytes(2, "little"), np.uint8)[place % 2] if made.fill else 0
    memory[shared] = np.where(inside, source[np.where(inside, place, 0)], outside)


def load_result(made: TensorMap, boxes: list[Box], tensor: bytes, size: int) -> bytes:
    """Of a case of loads: see `copies.load_kernel`."""
    result = b""
    for box in boxes:
        memory = np.full(size, 0xCD, np.uint8)
        loaded(made, box, tensor, memory)
        result += memory.tobytes() + np.array([1, box.expect], "<u4").tobytes()
    assert len(result) == len(boxes) * (size + SHOWN)
    return result


def stored(made: TensorMap, boxes: list[Box], tensor: bytes, source: bytes) -> bytes:
    """The tensor's buffer after the stores."""
    after, memory = np.frombuffer(tensor, np.uint8).copy(), np.frombuffer(source, np.uint8)
    for box in boxes:
        shared, place, inside = correspondence(made, box)
        after[place[inside]] = memory[shared[inside]]
    return after.tobytes()
