"""Tensor copies in NumPy: which element of a tensor lands where in shared memory, and what stands for those outside.

Tiles: every step-th element of the box along each dimension but the innermost, whose step is ignored. im2col: pixels
one behind the other, each `channels` wide, from the start through the bounding box [lower, dims + upper) and on in the
next image; `moved` shifts all of them. In shared memory a row of the innermost dimension takes its bytes, or the whole
span of the swizzle if it is narrower. The swizzle exchanges the 16-byte parts of an address by the bits above it,
`address ^ (address >> 7 & span / 16 - 1) << 4`, as wgmma's descriptors do.

What an H200 showed besides:

- The barrier counts the whole box, whatever lies outside of the tensor.
- A NaN outside of the tensor is 0x7FF7 in every 16 bits of every floating type, also in 32 and 64 bits.
- Loads of both TF32 types round to nearest, subnormals too, and make every NaN 0x7FFFE000. No recorded value is a tie.
- Loads of the ftz types flush nothing.
- Interleaved channels: dimensions are width, [height, [depth,]] slices and images, and dimension 0 has a stride of one
  slice (16 or 32 bytes), although the driver checks it in elements. Slices have coordinates of their own. All recorded
  boxes asked for 2 or 4 elements in that dimension, and got one slice. Shared memory holds slice behind slice, without
  gaps, swizzled as above.
- A copy beyond the block's shared memory is an illegal memory access; the memory ends at a multiple of 128 bytes.
- Loads and stores whose innermost coordinate was no multiple of 16 bytes were illegal instructions.
- Stores and reductions of which a box begins before the tensor, in any dimension, are illegal instructions, where loads
  may begin. So are those with an im2col map whose corners lie outside of the tensor. Beyond its end boxes may begin.
- Stores and reductions move whole 16 bytes of a row: those in which the tensor's innermost dimension ends, too, so
  that up to 15 bytes behind it are written.
- Reductions: of 8 and 16-bit integers none; inc and dec of u32 alone; of s64 min and max; of f16 and bf16 add, min and
  max; of the other floats add, which flushes subnormals of 32 bits. All others are illegal instructions.
- A barrier that expects fewer bytes than come may end its phase early, or never: the results differ from box to box.
- A bulk copy of 24 bytes copies 16, so that a barrier that expects 24 waits for ever (the archive of faults).
"""

from __future__ import annotations

import numpy as np

from hopper.copies import SHOWN, Box, slice_bytes
from hopper.maps import SWIZZLE_BYTES, TYPES, TensorMap

OUTSIDE = 0x7FF7  # of every 16 bits, where the map asks for NaN
NAN_TF32 = 0x7FFFE000


def box_counts(made: TensorMap) -> list[int]:
    steps = made.steps or (1,) * len(made.dims)
    counts = [made.box[0], *(-(-b // s) for b, s in zip(made.box[1:], steps[1:], strict=True))]
    if made.interleave:
        counts[-2] = 1
    return counts


def tile_coordinates(made: TensorMap, box: Box) -> tuple[np.ndarray, ...]:
    """Of each element (or slice) in order, innermost first."""
    counts = box_counts(made)
    index = np.indices(counts[::-1]).reshape(len(counts), -1)[::-1]
    scale = (1, *(made.steps or (1,) * len(counts))[1:])
    return tuple(box.at[d] + index[d] * scale[d] for d in range(len(counts)))


def pixel_coordinates(made: TensorMap, box: Box) -> tuple[np.ndarray, ...]:
    """As tile_coordinates: the channels (or the one slice) of each pixel in order."""
    assert made.lower is not None
    first = 0 if made.interleave else 1  # of the dimensions of a pixel
    spatial = range(first, first + len(made.lower))
    steps = made.steps or (1,) * len(made.dims)
    at, pixels = list(box.at), []
    for _ in range(made.pixels):
        moved = dict(zip(spatial, box.moved or (0,) * len(spatial), strict=True))
        pixels.append([c + moved.get(d, 0) for d, c in enumerate(at)])
        for d, lower, upper in zip(spatial, made.lower, made.upper, strict=True):
            at[d] += steps[d]
            if at[d] < made.dims[d] + upper:
                break
            at[d] = lower
        else:
            at[-1] += 1
    if made.interleave:
        return tuple(np.array(pixels).T)
    spread = np.repeat(np.array(pixels), made.channels, axis=0).T
    return (spread[0] + np.tile(np.arange(made.channels), made.pixels), *spread[1:])


def correspondence(made: TensorMap, box: Box, stores: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each byte of the box: its place in shared memory and in the tensor's buffer, and whether it is inside."""
    at = pixel_coordinates(made, box) if made.im2col else tile_coordinates(made, box)
    inside = np.logical_and.reduce([(c >= 0) & (c < d) for c, d in zip(at, made.dims, strict=True)])
    size = slice_bytes(made)
    if stores and not made.interleave:
        begun = (at[0] >= 0) & (at[0] * size // 16 * 16 < made.dims[0] * size)
        inside = np.logical_and.reduce(
            [begun, *((c >= 0) & (c < d) for c, d in zip(at[1:], made.dims[1:], strict=True))]
        )
    place = made.offset + sum(c.astype(np.int64) * s for c, s in zip(at, (size, *made.strides), strict=True))
    span, order = SWIZZLE_BYTES[made.swizzle], np.arange(len(inside))
    if made.interleave:
        shared = box.shared + order * size
    else:
        width = made.channels if made.im2col else made.box[0]
        shared = box.shared + order // width * max(width * size, span) + order % width * size
    byte = np.arange(size)
    shared = (shared[:, None] + byte).reshape(-1)
    if span:
        shared = shared ^ ((shared >> 7) & span // 16 - 1) << 4
    return shared, (np.asarray(place)[:, None] + byte).reshape(-1), np.repeat(inside, size)


def rounded_to_tf32(words: np.ndarray) -> np.ndarray:
    """As loads of both TF32 types do, subnormals included.  No recorded value lies halfway between two."""
    nan = words & 0x7FFFFFFF > 0x7F800000
    return np.where(nan, NAN_TF32, words + 0x1000 & 0xFFFFE000).astype("<u4")


def loaded(made: TensorMap, box: Box, tensor: bytes, memory: np.ndarray) -> None:
    """Writes the box into `memory`, the bytes of shared memory."""
    shared, place, inside = correspondence(made, box)
    source = np.frombuffer(tensor, np.uint8)
    # Some interleaved maps describe more than the buffer; what lay behind it was zero.
    present = inside & (place < len(source))
    outside = np.frombuffer(OUTSIDE.to_bytes(2, "little"), np.uint8)[place % 2] if made.fill else 0
    values = np.where(present, source[np.where(present, place, 0)], 0)
    if TYPES[made.kind].startswith("tf32"):
        values = rounded_to_tf32(values.view("<u4")).view(np.uint8)
    kept = shared < len(memory)
    memory[shared[kept]] = np.where(inside, values, outside)[kept]


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
        shared, place, inside = correspondence(made, box, stores=True)
        after[place[inside]] = memory[shared[inside]]
    return after.tobytes()
