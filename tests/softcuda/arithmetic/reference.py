"""What IEEE 754 and the PTX ISA say, in Python's exact integers and fractions: no code shared with softcuda."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass
from fractions import Fraction


class Unsupported(Exception):  # noqa: N818
    """What the loader would say about an instruction that it refuses."""


@dataclass(frozen=True)
class Format:
    exponent: int
    fraction: int
    infinite: bool = True  # else e4m3: all ones is NaN, no infinity

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def nan(self) -> int:
        return 0x7FF8000000000000 if self.exponent == 11 else (1 << self.bits - 1) - 1

    @property
    def largest(self) -> int:
        return (((1 << self.exponent) - 1) << self.fraction) - 1 if self.infinite else self.nan - 1

    @property
    def infinity(self) -> int:
        return self.largest + 1

    def is_nan(self, bits: int) -> bool:
        return bits & (1 << self.bits - 1) - 1 > (self.infinity if self.infinite else self.largest)


F64, F32, TF32, F16, BF16 = Format(11, 52), Format(8, 23), Format(8, 10), Format(5, 10), Format(8, 7)
E4M3, E5M2 = Format(4, 3, infinite=False), Format(5, 2)
Value = Fraction | float  # infinities, NaN and -0.0 are floats


def decode(fmt: Format, bits: int) -> Value:
    sign = -1 if bits >> fmt.bits - 1 & 1 else 1
    magnitude = bits & (1 << fmt.bits - 1) - 1
    if fmt.is_nan(bits):
        return math.nan
    if fmt.infinite and magnitude == fmt.infinity:
        return sign * math.inf
    if magnitude == 0:
        return -0.0 if sign < 0 else Fraction(0)
    exponent, fraction = magnitude >> fmt.fraction, magnitude & (1 << fmt.fraction) - 1
    if exponent:
        fraction += 1 << fmt.fraction
    return sign * Fraction(fraction) * Fraction(2) ** (max(exponent, 1) - fmt.bias - fmt.fraction)


def round_integer(x: Fraction, mode: str) -> int:
    """To an integer; mode is rn, rz, rm, rp or rna."""
    below = math.floor(x)
    rest = x - below
    if mode == "rm" or rest == 0:
        return below
    if mode == "rp":
        return below + 1
    if mode == "rz":
        return below + (x < 0)
    if rest == Fraction(1, 2):
        return below + (below & 1 if mode == "rn" else x > 0)
    return below + (rest > Fraction(1, 2))


def encode(fmt: Format, x: Value, mode: str = "rn", finite: bool = False) -> int:
    top = 1 << fmt.bits - 1
    if isinstance(x, float) and math.isnan(x):
        return fmt.nan
    sign = top if (math.copysign(1, x) < 0 if isinstance(x, float) else x < 0) else 0
    over = fmt.largest if finite else fmt.infinity if fmt.infinite else fmt.nan
    if isinstance(x, float) and math.isinf(x):
        return sign | over
    x = Fraction(x)
    if x == 0:
        return sign
    # The grid that |x| lies on: found by comparing with powers of two.
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    if abs(x) < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, 1 - fmt.bias)
    ulp = Fraction(2) ** (exponent - fmt.fraction)
    steps = abs(round_integer(x / ulp, mode))
    magnitude = steps + ((exponent + fmt.bias - 1) << fmt.fraction) if steps else 0
    if magnitude > fmt.largest:
        stays = mode == "rz" or mode == ("rp" if sign else "rm")
        magnitude = fmt.largest if stays else over
    return sign | magnitude


def flush(fmt: Format, bits: int) -> int:
    return bits if bits >> fmt.fraction & (1 << fmt.exponent) - 1 else bits & 1 << fmt.bits - 1


def flush_after_rounding(fmt: Format, exact: Value, mode: str = "rn") -> int:
    """A result of an H200's .ftz: flushed if it is too small once rounded to as many bits as normal numbers have."""
    bits = encode(fmt, exact, mode)
    least = Fraction(2) ** (1 - fmt.bias)
    if not (isinstance(exact, Fraction) or math.isfinite(exact)) or abs(exact) >= least or exact == 0:
        return bits
    rounded = decode(fmt, encode(fmt, Fraction(exact) * 2, mode))  # twice the value is normal if it is near `least`
    return bits & 1 << fmt.bits - 1 if abs(rounded) < 2 * least else bits


def negative(x: Value) -> bool:
    return math.copysign(1, x) < 0 if isinstance(x, float) else x < 0


def add(x: Value, y: Value, mode: str) -> Value:
    if any(isinstance(v, float) and (math.isnan(v) or math.isinf(v)) for v in (x, y)):
        return float(x if isinstance(x, float) and not math.isfinite(x) else 0) + float(
            y if isinstance(y, float) and not math.isfinite(y) else 0
        )
    total = Fraction(x) + Fraction(y)
    if total:
        return total
    both = negative(x) and negative(y)
    mixed = negative(x) != negative(y) or (Fraction(x) != 0)
    return -0.0 if both or (mixed and mode == "rm") else Fraction(0)


def mul(x: Value, y: Value) -> Value:
    sign = -1 if negative(x) != negative(y) else 1
    if any(isinstance(v, float) and not math.isfinite(v) for v in (x, y)):
        if any(v != v for v in (x, y)) or x == 0 or y == 0:
            return math.nan
        return sign * math.inf
    product = Fraction(x) * Fraction(y)
    return product if product else (-0.0 if sign < 0 else Fraction(0))


def div(x: Value, y: Value) -> Value:
    sign = -1 if negative(x) != negative(y) else 1
    infinite = [isinstance(v, float) and math.isinf(v) for v in (x, y)]
    if x != x or y != y or all(infinite) or (x == 0 and y == 0):
        return math.nan
    if infinite[0] or y == 0:
        return sign * math.inf
    if infinite[1] or x == 0:
        return -0.0 if sign < 0 else Fraction(0)
    return Fraction(x) / Fraction(y)


def sqrt_encode(fmt: Format, x: Value, mode: str) -> int:
    if isinstance(x, float) and (x == 0 or math.isnan(x) or x > 0):
        return encode(fmt, x)
    if x < 0:
        return fmt.nan
    if x == 0:
        return 0
    # 200 bits of the root, and one more that says whether anything is left.
    shift = 400 + (x.denominator.bit_length() // 2) * 2
    scaled = x * Fraction(4) ** shift
    whole = scaled.numerator // scaled.denominator
    root = math.isqrt(whole)
    exact = root * root == scaled
    return encode(fmt, (Fraction(2 * root + (not exact)) / 2) / Fraction(2) ** shift, mode)


def corners(fmt: Format, seed: int = 1, extra: int = 64) -> list[int]:
    """Zeros, ends of ranges, halves of ulps, NaNs, and random values of all sizes."""
    one, top = fmt.bias << fmt.fraction, 1 << fmt.bits - 1
    least = 1 << fmt.fraction
    values = {
        0,
        1,
        2,
        3,
        least - 1,
        least,
        least + 1,
        one - 1,
        one,
        one + 1,
        one + least,
        one + 3 * least // 2,
        fmt.largest,
        fmt.largest - 1,
        fmt.infinity if fmt.infinite else fmt.largest,
        fmt.nan,
        one + (fmt.fraction << fmt.fraction),
        one - (fmt.fraction << fmt.fraction),
        one + ((fmt.fraction + 1) << fmt.fraction) + 1,
    }
    values |= {v | top for v in values}
    rng = random.Random(seed)
    values |= {rng.getrandbits(fmt.bits) for _ in range(extra)}
    near = [
        rng.choice((0, top))
        | min(max(one + (rng.randint(-fmt.fraction, fmt.fraction) << fmt.fraction), 0), fmt.largest)
        | rng.getrandbits(fmt.fraction) & (least - 1)
        for _ in range(extra)
    ]
    return sorted(values) + [v for v in near if not fmt.is_nan(v)]


def pairs(values: list[int], limit: int = 2500, seed: int = 2) -> list[tuple[int, int]]:
    every = list(itertools.product(values, repeat=2))
    return every if len(every) <= limit else random.Random(seed).sample(every, limit)


def triples(values: list[int], count: int = 2000, seed: int = 3) -> list[tuple[int, int, int]]:
    rng = random.Random(seed)
    return [tuple(rng.choice(values) for _ in range(3)) for _ in range(count)]


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def integers(bits: int, seed: int = 4, extra: int = 40) -> list[int]:
    top = 1 << bits
    rng = random.Random(seed)
    values = {
        0,
        1,
        2,
        3,
        7,
        8,
        bits - 1,
        bits,
        bits + 1,
        top - 1,
        top - 2,
        top // 2,
        top // 2 - 1,
        top // 2 + 1,
        0x55 % top,
    }
    values |= {rng.getrandbits(bits) for _ in range(extra)} | {
        rng.getrandbits(rng.randint(1, bits)) for _ in range(extra)
    }
    return sorted(values)
