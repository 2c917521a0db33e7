"""wgmma.mma_async in NumPy, bit for bit as an H200's tensor cores compute it.

Floats: every product and the addend are truncated at 2^-PLACES of the largest power of two among them. A product's
power is the sum of its factors' exponents, not that of its own leading bit; subnormals have the least exponent. The
sum of the truncated terms is exact, so the order in K does not matter; all K of one instruction are one sum. It is
then truncated to f32, or rounded to nearest even to f16. PLACES is 25 for f16, bf16 and tf32. For 8-bit floats it is
13, and an f32 result keeps 13 bits of its fraction: with each instruction the accumulator loses what lies below them.
Integers are exact, and wrap around unless .satfinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopper.products import BITS, FORMATS, QUAD, ROW, Form, Layout, Shot, registers_of_sums

NAN = {"f32": 0x7FFFFFFF, "f16": 0x7FFF}
NOTHING = -(10**6)  # the power of zero


def places(kind: str) -> int:
    return 13 if BITS[kind] == 8 else 25


@dataclass(frozen=True)
class Floats:
    """Finite values are significand * 2^(power - fraction); infinities have the sign of `sign`."""

    significand: np.ndarray
    power: np.ndarray
    infinite: np.ndarray
    nan: np.ndarray
    sign: np.ndarray

    def __getitem__(self, at: object) -> Floats:
        return Floats(*(part[at] for part in (self.significand, self.power, self.infinite, self.nan, self.sign)))

    def scaled(self, sign: int) -> Floats:
        return Floats(sign * self.significand, self.power, self.infinite, self.nan, sign * self.sign)


def floats(words: np.ndarray, kind: str) -> Floats:
    exponent_bits, fraction = FORMATS[kind]
    bits = words.astype(np.int64) >> (13 if kind == "tf32" else 0)
    bias, top = (1 << exponent_bits - 1) - 1, (1 << exponent_bits) - 1
    sign = np.where(bits >> exponent_bits + fraction & 1, -1, 1)
    exponent, mantissa = bits >> fraction & top, bits & (1 << fraction) - 1
    if kind == "e4m3":
        nan = (exponent == top) & (mantissa == 7)
        infinite = np.zeros_like(nan)
    else:
        nan, infinite = (exponent == top) & (mantissa != 0), (exponent == top) & (mantissa == 0)
    significand = np.where(exponent > 0, mantissa | 1 << fraction, mantissa)
    return Floats(sign * significand, np.maximum(exponent, 1) - bias, infinite, nan, sign)


def shifted(values: np.ndarray, by: np.ndarray) -> np.ndarray:
    """values * 2^by, cut off toward zero."""
    size = np.abs(values)
    moved = np.where(by >= 0, size << np.clip(by, 0, 40), size >> np.clip(-by, 0, 62))
    return np.where(values < 0, -moved, moved)


def bit_lengths(sizes: np.ndarray) -> np.ndarray:
    """Of numbers below 2^53."""
    return np.frexp(sizes.astype(np.float64))[1].astype(np.int64)


def cut_to_f32(total: np.ndarray, unit: np.ndarray, kept: int = 23) -> np.ndarray:
    """Bits of total * 2^unit, of whose fraction `kept` bits stay."""
    size = np.abs(total)
    lead = bit_lengths(size) - 1 + unit
    mantissa = shifted(size, unit - (np.maximum(lead, -126) - 23))
    bits = np.where(lead < -126, mantissa, (lead + 127 << 23) + mantissa - (1 << 23))
    bits = np.where(lead > 127, 0x7F800000, bits) & ~((1 << 23 - kept) - 1)
    return np.where(size == 0, 0, bits | np.where(total < 0, 1 << 31, 0))


def round_to_f16(total: np.ndarray, unit: np.ndarray) -> np.ndarray:
    size = np.abs(total)
    place = np.maximum(bit_lengths(size) - 1 + unit, -14) - 10
    mantissa = shifted(size, unit - place)
    down = np.clip(place - unit, 0, 62)
    rest, half = size - (mantissa << down), np.where(down > 0, 1 << np.maximum(down - 1, 0), 1 << 62)
    mantissa += (rest > half) | ((rest == half) & (mantissa & 1 == 1))
    # A mantissa that has grown to 2^11 carries into the exponent by itself.
    bits = np.where(mantissa < 1 << 10, mantissa, (place + 25 << 10) + mantissa - (1 << 10))
    return np.where(size == 0, 0, np.minimum(bits, 0x7C00) | np.where(total < 0, 1 << 15, 0))


def float_sums(d: str, kind_a: str, kind_b: str, a: Floats, b: Floats, c: np.ndarray, scale_d: int) -> np.ndarray:
    """Bits.  a and b broadcast to (64, n, k), c holds bits of (64, n)."""
    count = places(kind_a)
    addend = floats(c if scale_d else np.zeros_like(c), d)
    products, powers = a.significand * b.significand, a.power + b.power
    largest = np.where(products != 0, powers, NOTHING).max(-1)
    largest = np.maximum(largest, np.where(addend.significand != 0, addend.power, NOTHING))
    largest = np.where(largest == NOTHING, 0, largest)
    fraction = FORMATS[kind_a][1] + FORMATS[kind_b][1]
    total = shifted(products, count - fraction - (largest[..., None] - powers)).sum(-1)
    total += shifted(addend.significand, count - FORMATS[d][1] - (largest - addend.power))
    if d == "f16":
        bits, infinity, minus = round_to_f16(total, largest - count), 0x7C00, 1 << 15
    else:
        kept = 13 if BITS[kind_a] == 8 else 23
        bits, infinity, minus = cut_to_f32(total, largest - count, kept), 0x7F800000, 1 << 31
    infinite = a.infinite | b.infinite
    nan = a.nan | b.nan | (a.infinite & (b.significand == 0)) | (b.infinite & (a.significand == 0))
    sign = a.sign * b.sign
    above = (infinite & (sign > 0)).any(-1) | (addend.infinite & (addend.sign > 0))
    below = (infinite & (sign < 0)).any(-1) | (addend.infinite & (addend.sign < 0))
    bits = np.where(above, infinity, np.where(below, infinity | minus, bits))
    return np.where(nan.any(-1) | addend.nan | (above & below), NAN[d], bits)


def chosen_columns(form: Form, meta: np.ndarray) -> np.ndarray:
    """(64, k/2): which columns of a sparse A the stored elements are, from the metadata words of the 128 threads.

    16 and 32 bits: of each four lanes, 2 * selector and the next hold 16 bits for row g, above them 16 for row g + 8.
    8 bits: lanes 0 and 2 hold row g's 32 columns each, lanes 1 and 3 row g + 8's.
    """
    assert form.sparse is not None
    groups = form.k // (2 if form.a == "tf32" else 4)
    nibbles = np.zeros((64, groups), np.int64)
    for thread in range(128):
        row, lane = int(ROW[thread]), int(QUAD[thread])
        word = [int(meta[thread]) >> 4 * i & 15 for i in range(8)]
        if BITS[form.a] == 8:
            nibbles[row + 8 * (lane % 2), 8 * (lane // 2) :][:8] = word
        elif lane // 2 == form.sparse:
            nibbles[row, 4 * (lane % 2) :][:4] = word[:4]
            nibbles[row + 8, 4 * (lane % 2) :][:4] = word[4:]
    group = np.arange(groups)
    if form.a == "tf32":  # one of two: 0100 and 1110 name its halves
        return 2 * group + (nibbles == 0xE)
    return np.stack([4 * group + (nibbles & 3), 4 * group + (nibbles >> 2)], -1).reshape(64, -1)


def unpacked(rows: np.ndarray, kind: str) -> np.ndarray:
    if kind == "b1":
        return np.unpackbits(rows, axis=-1, bitorder="little").astype(np.int64)
    words = np.ascontiguousarray(rows).view(f"<u{BITS[kind] // 8}").astype(np.int64)
    return np.where(words > 127, words - 256, words) if kind == "s8" else words


def product(form: Form, shot: Shot) -> np.ndarray:
    """D, (64, n) words of 16 or 32 bits."""
    a, b = unpacked(shot.a, form.a)[:, None, :], unpacked(shot.b, form.b)[None, :, :]
    if form.sparse is not None:
        assert shot.meta is not None
        b = b[0][:, chosen_columns(form, shot.meta)].transpose(1, 0, 2)
    d, scale_d = shot.c.astype(np.int64), shot.scale_d
    for _ in range(form.repeat):
        if form.a in FORMATS:
            left, right = floats(a, form.a).scaled(form.signs[0]), floats(b, form.b).scaled(form.signs[1])
            d = float_sums(form.d, form.a, form.b, left, right, d, scale_d)
        else:
            addend = d.astype(np.uint32).view(np.int32).astype(np.int64) if scale_d else 0
            d = (a * b).sum(-1) + addend
            if form.saturates:
                d = np.clip(d, -(2**31), 2**31 - 1)
    return (d & (0xFFFF if form.d == "f16" else 0xFFFFFFFF)).astype(shot.c.dtype)


def registers(form: Form, shot: Shot) -> bytes:
    return registers_of_sums(product(form, shot)).tobytes()


def addresses(layout: Layout) -> np.ndarray:
    """(rows along M or N, elements along K): where wgmma reads each, in bytes, through such a descriptor.

    The swizzle exchanges the 16-byte parts of a span by the address bits above it, after `base` is taken from them.
    """
    rows, k = layout.extent
    row, along = np.arange(rows)[:, None], np.arange(k)[None, :]
    size, span = BITS[layout.kind] // 8, layout.swizzle or 16
    if not layout.transposed:
        byte = along * size
        place = row // 8 * layout.stride + row % 8 * span + byte % span
        if not layout.swizzle:
            place = place + byte // 16 * layout.leading
    else:
        wide = span // size
        far, near = (layout.leading, layout.stride) if layout.swizzle else (layout.stride, layout.leading)
        place = row // wide * far + along // 8 * near + along % 8 * span + row % wide * size
    place = layout.start + place
    if layout.swizzle:
        mask = span // 16 - 1
        place = place ^ ((place >> 7) - layout.base & mask) << 4
    return place
