"""Operand values: the corners of each type, crossed, then values from a fixed-seed generator.

Only names and counts decide them, so a golden file stores no inputs.  The generator is SplitMix64 written out here: a
library's random stream may change with its version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

U64 = np.uint64
SHIFTS = [0, 1, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 24, 255, 256, 0x80000000, 0xFFFFFFFF, 7, 128]


def random_bits(seed: str, count: int) -> np.ndarray:
    """`count` 64-bit values that depend on the seed alone."""
    start = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "little")
    with np.errstate(over="ignore"):
        x = U64(start) + np.arange(1, count + 1, dtype=U64) * U64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> U64(30))) * U64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> U64(27))) * U64(0x94D049BB133111EB)
        return x ^ (x >> U64(31))


def float_corners(exponent: int, fraction: int) -> list[int]:
    """Bits of a binary format: the most telling first, because crossings of three operands take few."""
    bias, sign, one = (1 << exponent - 1) - 1, 1 << exponent + fraction, ((1 << exponent - 1) - 1) << fraction
    infinity, quiet = ((1 << exponent) - 1) << fraction, 1 << fraction - 1
    plain = [
        one,
        infinity,
        infinity | quiet | 5,
        1,
        0,
        infinity - 1,
        infinity | 3,
        (1 << fraction) - 1,
        1 << fraction,
        one + 1,
        one - 1,
        one + (1 << fraction),
        one + (1 << fraction - 1),
        (bias + fraction + 1) << fraction,
        max(1, bias - fraction - 1) << fraction,
        infinity | quiet,
        sign - 1,
    ]
    # Halves to round, and the ends of the integer types where the format reaches them.
    for power in (7, 8, 15, 16, 31, 32, 63, 64):
        if power <= bias:
            plain += [(bias + power) << fraction, ((bias + power) << fraction) - 1, ((bias + power) << fraction) + 1]
    plain += [
        (bias - 1) << fraction,
        ((bias + 1) << fraction) | 1 << fraction - 2,
        ((bias + 1) << fraction) | 3 << fraction - 2,
    ]
    signed = []
    for value in plain:
        signed += [value, value | sign]
    # One sign each of the first few, alternating, then the rest.
    first = [v | sign if i % 2 else v for i, v in enumerate(plain[:8])]
    return first + [v for v in signed if v not in first]


def integer_corners(bits: int) -> list[int]:
    top, full = 1 << bits - 1, (1 << bits) - 1
    half = 1 << bits // 2
    values = [
        0,
        full,
        top,
        1,
        top - 1,
        0x5A5A5A5A5A5A5A5A & full,
        half,
        full - 1,
        2,
        top + 1,
        half - 1,
        half + 1,
        3,
        7,
        0x7F,
        0x80,
        0xFF,
        0x100 & full,
        10,
        full // 3,
        top >> 1,
        full ^ half,
        full - 6,
        0x123456789ABCDEF0 & full,
    ]
    return list(dict.fromkeys(values))


FLOATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


def scalar(kind: str, raw: np.ndarray) -> tuple[list[int], np.ndarray]:
    """The corners of a kind, and random values of it made from 64-bit ones."""
    if kind in FLOATS:
        exponent, fraction = FLOATS[kind]
        bias, bits = (1 << exponent - 1) - 1, 1 + exponent + fraction
        uniform = raw & U64((1 << bits) - 1) if bits < 64 else raw
        # Half of them close to one in size, so that sums cancel and round.
        near = U64(bias) - U64(3) + (raw >> U64(58)) % U64(7)
        close = (raw & U64((1 << fraction) - 1)) | near << U64(fraction) | ((raw >> U64(57)) & U64(1)) << U64(bits - 1)
        return float_corners(exponent, fraction), np.where((raw >> U64(56)) & U64(1) == 0, uniform, close)
    if kind in ("f16x2", "bf16x2"):
        part = kind[:-2]
        corners = float_corners(*FLOATS[part])
        _, low = scalar(part, raw)
        _, high = scalar(part, random_bits(kind, len(raw)) ^ raw)
        # The upper half walks through the corners at another pace, so that pairs mix.
        mixed = [corners[(5 * i + 3) % len(corners)] << 16 | c for i, c in enumerate(corners)]
        return mixed, low | high << U64(16)
    if kind == "shift":
        return SHIFTS, raw % U64(70)
    if kind == "lane":
        return list(range(32)), raw % U64(64)
    if kind == "segment":  # shfl's c: clamp, and the mask of the segments above it
        return [0x1F, 0x1C1F, 0x181F, 0x101F, 0x1E1F, 0, 0x1C00, 0x1800, 0x0F, 0x101B], raw & U64(0x1F1F)
    if kind == "pred":
        return [0, 1], raw & U64(1)
    if kind == "few":  # many equal values: for match and vote
        return [0, 1], raw & U64(3)
    if kind == "one":
        return [1], raw * U64(0) + U64(1)
    if kind == "angle":  # f32 within pi of zero
        values = ((raw >> U64(11)).astype(np.float64) / 2.0**53 * 2 - 1) * 3.1415926
        return [0, 1 << 31, 1, 0x7F800000, 0xFF800000, 0x7FC00001, 0x3F800000, 0xBF800000], _bits32(values)
    if kind == "bigangle":
        return [0, 1 << 31], _bits32(((raw >> U64(11)).astype(np.float64) / 2.0**53 * 2 - 1) * 314.0)
    if kind == "exponent":  # f32 in ex2's range, and past its ends
        corners = [
            0,
            1 << 31,
            0x7F800000,
            0xFF800000,
            0x7FC00001,
            *np.float32(
                [1, -1, 127, 128, 129, -126, -127, -149, -150, -151, 0.5, -0.5, 10, -10, 1e-30, -1e-30, 1e30, -1e30]
            )
            .view(np.uint32)
            .tolist(),
            1,
        ]
        return corners, _bits32(((raw >> U64(11)).astype(np.float64) / 2.0**53 * 2 - 1) * 152)
    if kind.startswith(
        "sparse"
    ):  # indices of mma.sp: each four bits name elements 0 to 3 (sparse1: halves) that ascend
        nibbles = [0x4, 0xE] if kind == "sparse1" else [0x4, 0x8, 0xC, 0x9, 0xD, 0xE]
        chosen = [((raw >> U64(8 * i)) % U64(len(nibbles))).astype(np.int64) for i in range(8)]
        table = np.array(nibbles, dtype=U64)
        return [], sum((table[c] << U64(4 * i) for i, c in enumerate(chosen)), U64(0))
    if kind.startswith(("wide", "rare")):
        return [], spread_values(kind, raw)
    if ":" in kind:
        return [], matrix_values(kind, raw)
    bits = int(kind[1:])
    return integer_corners(bits), raw & U64((1 << bits) - 1) if bits < 64 else raw


def _bits32(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32).view(np.uint32).astype(U64)


def matrix_values(kind: str, raw: np.ndarray) -> np.ndarray:
    """Registers of fragments: integers up to 8, or numbers below one, as two halves or one word."""
    shape, form = kind.split(":")

    def one(part: np.ndarray) -> np.ndarray:
        number = (
            (part % U64(17)).astype(np.float64) - 8
            if shape[:3] == "int"
            else (part % U64(1 << 16)).astype(np.float64) / 2**15 - 1
        )
        if form == "f16":
            return number.astype(np.float16).view(np.uint16).astype(U64)
        words = number.astype(np.float32).view(np.uint32).astype(U64)
        return words >> U64(16) if form == "bf16" else words & U64(0xFFFFE000) if form == "tf32" else words

    low = one(raw & U64(0xFFFFFFFF))
    return low | one(raw >> U64(32)) << U64(16) if shape[-1] == "2" else low


SMALL_FLOATS = FLOATS | {"tf32": (8, 10), "e4m3": (4, 3), "e5m2": (5, 2)}


def spread_values(kind: str, raw: np.ndarray) -> np.ndarray:
    """wide2:f16: two halves of a word, over many powers of two; rare2:f16: one in 64 NaN, infinite, subnormal."""
    shape, form = kind.split(":")
    exponent, fraction = SMALL_FLOATS[form]
    bias, bits = (1 << exponent - 1) - 1, 1 + exponent + fraction
    span = min(2 * bias - 1, 25)
    infinity = ((1 << exponent) - 1) << fraction
    corners = [0, 1, (1 << fraction) - 1, infinity, infinity | 1, infinity - 1, (1 << bits - 1) - 1, 1 << fraction]
    words = np.zeros(len(raw), dtype=U64)
    for part in range(int(shape[-1])):
        more = random_bits(f"{kind} {part}", len(raw)) ^ raw
        power = U64(bias - span // 2) + (more >> U64(8)) % U64(span)
        value = (more >> U64(60)) << U64(bits - 1) & U64(1 << bits - 1)
        value |= power << U64(fraction) | (random_bits(f"{kind} {part} fraction", len(raw)) ^ more) & U64(
            (1 << fraction) - 1
        )
        if shape[:4] == "rare":
            chosen = np.array(corners, dtype=U64)[((more >> U64(3)) % U64(len(corners))).astype(np.int64)]
            value = np.where((more >> U64(20)) % U64(64) == 0, chosen | (value & U64(1 << bits - 1)), value)
        words |= value << U64(part * bits)
    return words << U64(13) if form == "tf32" else words


def operands(kinds: Sequence[str], count: int) -> list[np.ndarray]:
    """One array of 64-bit words an operand: three quarters of the lanes cross corners, the rest are mixed."""
    every, arity = [], max(1, len(kinds))
    for place, kind in enumerate(kinds):
        every.append(scalar(kind, random_bits(f"{place} {kind} {count}", count)))
    result = []
    side = int((count * 0.75) ** (1 / arity)) if arity <= 4 else 0
    stride = 1
    for place, (corners, values) in enumerate(every):
        values = values.copy()
        if corners:
            table = np.array(corners, dtype=U64)
            # Lanes behind the crossing: every other one a corner of its own.
            pick = random_bits(f"pick {place} {count}", count)
            values = np.where(
                pick & U64(1) == 0, table[((pick >> U64(8)) % U64(len(corners))).astype(np.int64)], values
            )
            if arity == 1:
                used = min(len(corners), count)
                values[:used] = table[:used]
            elif side:
                lanes = np.arange(side**arity)
                values[: side**arity] = table[(lanes // stride % side) % len(corners)]
                stride *= side
        result.append(values)
    return result
