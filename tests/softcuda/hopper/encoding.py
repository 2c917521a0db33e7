"""The 128 bytes of a tensor map, as an H200's driver (580.159) writes them, and which arguments it refuses.

The hardware's descriptor is the first 64 bytes.  Behind it the driver notes the bytes of a box (word 16) and how shared
memory must be aligned (word 18); its count of a strided box rounds down, where the hardware rounds up.
"""

from __future__ import annotations

from math import prod

import numpy as np

from hopper.maps import FLOATING, SWIZZLE_BYTES, TYPES, TensorMap

CODES = dict(zip(TYPES, (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8), strict=True))
SHARED = 227 * 1024
CORNER_BITS = {3: 16, 4: 8, 5: 5}


def noted_bytes(made: TensorMap, rank: int) -> int:
    """Of a box, as the driver counts."""
    if made.im2col:
        return made.channels * made.pixels * made.element
    steps = (*made.steps, *(1,) * 5)[:rank]
    return prod(b // s for b, s in zip((*made.box, *(1,) * 5)[:rank], steps, strict=True)) * made.element


def encode(made: TensorMap, address: int) -> np.ndarray:
    """32 words; the arguments are legal."""
    words = np.zeros(32, np.uint64)
    rank, kind = made.rank or len(made.dims), TYPES[made.kind]
    dims, strides = made.dims[:rank], made.strides[: rank - 1]
    steps = (made.steps or (1,) * rank)[:rank]
    words[0], words[1] = address & 0xFFFFFFFF, address >> 32
    words[2] = (
        int(made.im2col)
        | rank - 1 << 4
        | CODES[kind] << 7
        | made.interleave << 11
        | made.swizzle << 13
        | made.fill << 15
        | kind.startswith("tf32") << 16
        | made.promotion << 17
    )
    for i, stride in enumerate(strides):
        words[3 + i] = stride >> 4 & 0xFFFFFFFF
        words[7] |= np.uint64(stride >> 36 << 4 * i)
    for i, size in enumerate(dims):
        words[8 + i] = size - 1
    inner = made.channels if made.im2col else made.box[0]
    words[13] = sum(step - 1 << 3 * i for i, step in enumerate(steps)) | inner - 1 << 24
    if made.im2col:
        bits = CORNER_BITS[rank]
        low, high = (
            sum((corner & (1 << bits) - 1) << bits * i for i, corner in enumerate(corners[: rank - 2]))
            for corners in (made.lower or (), made.upper)
        )
        words[14], words[15] = low | high << 16, made.pixels - 1
    else:
        words[14] = sum(size - 1 << 8 * i for i, size in enumerate(made.box[1:rank]))
    words[16] = noted_bytes(made, rank)
    words[18] = 8 * SWIZZLE_BYTES[made.swizzle] or 16
    return words.astype("<u4")


def refused(made: TensorMap, address: int) -> str:
    """Why the driver refuses the arguments; empty if it does not."""
    rank = made.rank or len(made.dims)
    if not 0 <= made.kind < len(TYPES):
        return "type"
    if not (3 if made.im2col or made.interleave else 1) <= rank <= 5:
        return "rank"
    dims, strides = (*made.dims, *(1,) * 5)[:rank], (*made.strides, *(1,) * 5)[: rank - 1]
    steps = (*(made.steps or ()), *(1,) * 5)[:rank]
    kind, element = TYPES[made.kind], made.element
    if made.interleave not in (0, 1, 2) or made.swizzle not in (0, 1, 2, 3) or made.promotion not in (0, 1, 2, 3):
        return "mode"
    if made.fill not in (0, 1) or (made.fill and kind not in FLOATING):
        return "fill"
    if address % (32 if made.interleave == 2 else 16) or address >> 57:
        return "address"
    if any(not 0 < d <= 2**32 for d in dims) or any(not 1 <= s <= 8 for s in steps):
        return "dims or steps"
    if any(s % (32 if made.interleave == 2 else 16) or not 0 <= s < 2**40 for s in strides):
        return "strides"
    if made.im2col:
        reach = 1 << CORNER_BITS[rank] - 1
        corners = [*(made.lower or ())[: rank - 2], *made.upper[: rank - 2]]
        if any(not -reach <= c < reach for c in corners):
            return "corners"
        spans = [d + high - low for d, low, high in zip(dims[1:], made.lower or (), made.upper, strict=False)]
        if any((span + 2**31) % 2**32 <= 2**31 for span in spans[: rank - 2]):  # in 32 bits, signed
            return "no pixel is left between the corners"
        if not 0 < made.channels <= 256 or not 0 < made.pixels <= 1024:
            return "counts"
        inner = made.channels * element
    else:
        if any(not 0 < b <= 256 for b in (*made.box, *(1,) * 5)[:rank]):
            return "box"
        inner = made.box[0] * element
    if inner % 16:
        return "the inner extent is no multiple of 16 bytes"
    if not made.interleave and made.swizzle and inner > SWIZZLE_BYTES[made.swizzle]:
        return "the inner extent is wider than the swizzle"
    if noted_bytes(made, rank) > SHARED:
        return "the box is larger than a block's shared memory"
    return ""


# tensormap.replace numbers the types in another order than cuTensorMapEncodeTiled: code, and whether it is TF32.
REPLACED_TYPES = (*((i, 0) for i in range(11)), (7, 1), (8, 1))


def replaced(made: TensorMap, address: int, field: str, rest: str, value: int) -> np.ndarray:
    """What `tensormap.replace.tile.FIELD` makes of the map: rest is the dimension, or "= N" of a mode.

    It changes this field alone: neither what the driver noted behind the descriptor, nor whether the map is im2col.
    """
    words = encode(made, address).astype(np.int64)
    at = 0 if not rest or rest[0] == "=" else int(rest)

    def put(word: int, low: int, bits: int, new: int) -> None:
        mask = (1 << bits) - 1
        words[word] = words[word] & ~(mask << low) | (new & mask) << low

    if field == "global_address":
        put(0, 0, 32, value)
        put(1, 0, 32, value >> 32)
    elif field == "rank":  # the operand is one less
        put(2, 4, 3, value)
    elif field == "box_dim":
        put(*((13, 24) if at == 0 else (14, 8 * at - 8)), 8, value - 1)
    elif field == "global_dim":
        put(8 + at, 0, 32, value - 1)
    elif field == "global_stride":
        put(3 + at, 0, 32, value >> 4)
        put(7, 4 * at, 4, value >> 36)
    elif field == "element_stride":
        put(13, 3 * at, 3, value - 1)
    elif field == "elemtype":
        code, tf32 = REPLACED_TYPES[value]
        put(2, 7, 4, code)
        put(2, 16, 1, tf32)
    else:
        put(2, *{"interleave_layout": (11, 2), "swizzle_mode": (13, 2), "fill_mode": (15, 1)}[field], value)
    return words.astype("<u4")


def refused_address(address: int) -> str:
    """By cuTensorMapReplaceAddress."""
    return "address" if address % 16 or not 0 < address < 1 << 57 else ""
