"""cvt between all types, in all roundings, against exact fractions."""

from __future__ import annotations

import math

import pytest
from reference import (
    BF16,
    E4M3,
    E5M2,
    F16,
    F32,
    F64,
    TF32,
    Format,
    Unsupported,
    corners,
    decode,
    encode,
    flush,
    integers,
    pairs,
    round_integer,
    signed,
)

FLOATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
INTEGERS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
INTEGER_ROUNDINGS = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}


def width(kind: str) -> int:
    return FLOATS[kind].bits if kind in FLOATS else int(kind[1:])


def register(kind: str) -> str:
    return f"r{max(2, width(kind) // 8)}"


def of(kind: str, value: int) -> int:
    value &= (1 << width(kind)) - 1
    return signed(value, width(kind)) if kind[0] == "s" else value


def check(name: str, inputs: list[int], got: list[int], want: list[int], fmt: Format | None = None) -> None:
    same = lambda g, w: g == w or (fmt is F64 and F64.is_nan(g) and F64.is_nan(w))  # noqa: E731  payloads pass
    wrong = [(hex(i), hex(g), hex(w)) for i, g, w in zip(inputs, got, want, strict=True) if not same(g, w)]
    assert not wrong, (name, len(wrong), wrong[:5])


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_integer(run, source: str, to: str) -> None:
    values = integers(width(source))
    for wide in {register(to), "r8"}:  # a wider register gets the value extended by the sign of its type
        bits = int(wide[1:]) * 8
        got = run(f"cvt.{to}.{source}", f"{wide} {register(source)}", values)[0]
        check(f"cvt.{to}.{source}", values, got, [of(to, of(source, v)) & (1 << bits) - 1 for v in values])
        low, high = (-(1 << width(to) - 1), (1 << width(to) - 1) - 1) if to[0] == "s" else (0, (1 << width(to)) - 1)
        got = run(f"cvt.sat.{to}.{source}", f"{wide} {register(source)}", values)[0]
        check(
            f"cvt.sat.{to}.{source}",
            values,
            got,
            [min(max(of(source, v), low), high) & (1 << bits) - 1 for v in values],
        )


def test_source_wider_than_its_type(run) -> None:
    """cvt.u32.u8 may read a 32-bit register: only the low byte counts."""
    values = integers(32)
    assert run("cvt.u32.u8", "r4 r4", values)[0] == [v & 0xFF for v in values]
    assert run("cvt.s64.s8", "r8 r4", values)[0] == [signed(v, 8) & (1 << 64) - 1 for v in values]
    assert run("cvt.rn.f32.s8", "r4 r4", values)[0] == [encode(F32, decode_int(signed(v, 8))) for v in values]


def decode_int(value: int):
    from fractions import Fraction

    return Fraction(value)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("to", FLOATS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_float(run, source: str, to: str, mode: str) -> None:
    values = integers(width(source), extra=100)
    got = run(f"cvt.{mode}.{to}.{source}", f"{register(to)} {register(source)}", values)[0]
    check(
        f"cvt.{mode}.{to}.{source}", values, got, [encode(FLOATS[to], decode_int(of(source, v)), mode) for v in values]
    )


@pytest.mark.parametrize("mode", INTEGER_ROUNDINGS)
@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
def test_float_to_integer_clamps(run, source: str, to: str, mode: str) -> None:
    fmt, bits = FLOATS[source], width(to)
    values = corners(fmt, extra=150)
    # The ends of the integer's range, and what lies beside them.
    for edge in (0, 1 << bits - 1, (1 << bits) - 1, 1 << bits, -(1 << bits - 1), -1, 1, 2, 3):
        near = encode(fmt, decode_int(edge) + decode_int(0))
        values += [v & (1 << fmt.bits) - 1 for v in (near - 1, near, near + 1)]
    values += [encode(fmt, decode_int(k) / 2) for k in range(-9, 10)]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if to[0] == "s" else (0, (1 << bits) - 1)

    def want(v: int, ftz: bool) -> int:
        x = decode(fmt, flush(fmt, v) if ftz else v)
        if x != x:  # PTX ISA, cvt: 0, but 1 << (width - 1) where .f64, .s64 or .u64 takes part
            return 1 << bits - 1 if 64 in (bits, fmt.bits) else 0
        if isinstance(x, float) and math.isinf(x):
            return high if x > 0 else low
        return min(max(round_integer(decode_int(0) + x if x else decode_int(0), INTEGER_ROUNDINGS[mode]), low), high)

    for ftz in (False, True) if source == "f32" else (False,):
        name = f"cvt.{mode}{'.ftz' * ftz}.{to}.{source}"
        got = run(name, f"{register(to)} {register(source)}", values)[0]
        held = int(register(to)[1:]) * 8
        check(
            name,
            values,
            got,
            [signed(want(v, ftz), bits) & (1 << held) - 1 if to[0] == "s" else want(v, ftz) for v in values],
        )


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(
    ("source", "to"),
    [
        ("f64", "f32"),
        ("f64", "f16"),
        ("f64", "bf16"),
        ("f32", "f16"),
        ("f32", "bf16"),
        ("f16", "bf16"),
        ("bf16", "f16"),
    ],
)
def test_narrower_float(run, source: str, to: str, mode: str) -> None:
    fmt, target = FLOATS[source], FLOATS[to]
    values = corners(fmt, extra=500)
    if fmt.bits > target.bits:  # every step of the target, its middles, and what lies just beside them
        for v in corners(target):
            if not target.is_nan(v) and v & (1 << target.bits - 1) - 1 < target.largest:
                middle = decode_int(0) + decode_int(1) * (as_fraction(target, v) + as_fraction(target, v + 1)) / 2
                values += [encode(fmt, middle), encode(fmt, middle) + 1, encode(fmt, middle) - 1]
    values = [v & (1 << fmt.bits) - 1 for v in values]
    got = run(f"cvt.{mode}.{to}.{source}", f"{register(to)} {register(source)}", values)[0]
    check(f"cvt.{mode}.{to}.{source}", values, got, [narrowed(fmt, target, v, mode) for v in values])


def narrowed(fmt: Format, target: Format, bits: int, mode: str) -> int:
    """NaN is canonical, but of an f64 it keeps its sign and the top of its payload, as on an H200."""
    if fmt is not F64 or not fmt.is_nan(bits):
        return encode(target, decode(fmt, bits), mode)
    payload = bits >> fmt.fraction - target.fraction & (1 << target.fraction) - 1
    return bits >> 63 << target.bits - 1 | target.infinity | 1 << target.fraction - 1 | payload


def as_fraction(fmt: Format, bits: int):
    return decode_int(0) + (decode(fmt, bits) or decode_int(0))


@pytest.mark.parametrize(
    ("source", "to"), [("f32", "f64"), ("f16", "f32"), ("bf16", "f32"), ("f16", "f64"), ("bf16", "f64")]
)
def test_wider_float(run, source: str, to: str) -> None:
    fmt = FLOATS[source]
    values = list(range(65536)) if fmt.bits == 16 else corners(fmt, extra=500)
    values = [v for v in values if not fmt.is_nan(v)]
    got = run(f"cvt.{to}.{source}", f"{register(to)} {register(source)}", values)[0]
    check(f"cvt.{to}.{source}", values, got, [encode(FLOATS[to], decode(fmt, v)) for v in values])


@pytest.mark.parametrize("mode", INTEGER_ROUNDINGS)
@pytest.mark.parametrize("kind", FLOATS)
def test_to_an_integral_float(run, kind: str, mode: str) -> None:
    fmt = FLOATS[kind]
    values = corners(fmt, extra=300) + [encode(fmt, decode_int(k) / 4) for k in range(-20, 21)]

    def want(v: int) -> int:
        x = decode(fmt, v)
        if isinstance(x, float):
            return encode(fmt, x)
        whole = round_integer(x, INTEGER_ROUNDINGS[mode])
        return encode(fmt, decode_int(whole)) if whole else v & 1 << fmt.bits - 1  # keeps the sign of zero

    got = run(f"cvt.{mode}.{kind}.{kind}", f"{register(kind)} {register(kind)}", values)[0]
    check(f"cvt.{mode}.{kind}.{kind}", values, got, [want(v) for v in values], fmt)


def test_saturate_and_relu(run) -> None:
    values = corners(F32, extra=300)
    one = 0x3F800000
    assert run("cvt.sat.f32.f32", "r4 r4", values)[0] == [
        0 if F32.is_nan(v) or v >> 31 else min(v, one) for v in values
    ]
    want = [0 if v >> 31 and not F32.is_nan(v) else encode(F16, decode(F32, v)) for v in values]
    assert run("cvt.rn.relu.f16.f32", "r2 r4", values)[0] == want
    assert run("cvt.rna.tf32.f32", "r4 r4", values)[0] == [
        v & 0xFFFFE000 if F32.is_nan(v) else encode(TF32, decode(F32, v), "rna") << 13 for v in values
    ]


@pytest.mark.parametrize(("to", "fmt"), [("f16x2", F16), ("bf16x2", BF16), ("e4m3x2", E4M3), ("e5m2x2", E5M2)])
def test_pairs(run, to: str, fmt: Format) -> None:
    """The first source becomes the upper half."""
    inputs = pairs(corners(F32, extra=200))
    small = fmt.bits == 8
    name = f"cvt.rn{'.satfinite' * small}.{to}.f32"
    got = run(name, f"r{fmt.bits // 4} r4 r4", *zip(*inputs))[0]
    one = lambda v: encode(fmt, decode(F32, v), finite=small)  # noqa: E731
    check(name, [a << 32 | b for a, b in inputs], got, [one(a) << fmt.bits | one(b) for a, b in inputs])


@pytest.mark.parametrize(("kind", "fmt"), [("e4m3x2", E4M3), ("e5m2x2", E5M2)])
def test_fp8_and_f16(run, kind: str, fmt: Format) -> None:
    every = [h << 8 | low for h in range(0, 256, 3) for low in range(256)]
    got = run(f"cvt.rn.f16x2.{kind}", "r4 r2", every)[0]
    wide = lambda v: encode(F16, decode(fmt, v))  # noqa: E731
    check(kind, every, got, [wide(v >> 8) << 16 | wide(v & 255) for v in every])
    inputs = [a << 16 | b for a, b in pairs(corners(F16))]
    got = run(f"cvt.rn.satfinite.{kind}.f16x2", "r2 r4", inputs)[0]
    narrow = lambda v: encode(fmt, decode(F16, v), finite=True)  # noqa: E731
    check(kind, inputs, got, [narrow(v >> 16) << 8 | narrow(v & 0xFFFF) for v in inputs])


def test_pack(run) -> None:
    inputs = pairs(integers(32))
    c = [(a * 31 + b) & 0xFFFFFFFF for a, b in inputs]
    cut = lambda v, low, high: min(max(signed(v, 32), low), high)  # noqa: E731
    want = [
        (cut(a, -128, 127) & 255) << 8 | cut(b, -128, 127) & 255 | z << 16 & 0xFFFFFFFF for (a, b), z in zip(inputs, c)
    ]
    assert run("cvt.pack.sat.s8.s32.b32", "r4 r4 r4 r4", *zip(*inputs), c)[0] == want
    assert run("cvt.pack.sat.u16.s32", "r4 r4 r4", *zip(*inputs))[0] == [
        cut(a, 0, 65535) << 16 | cut(b, 0, 65535) for a, b in inputs
    ]


@pytest.mark.parametrize(
    "name", ["cvt.f32.f64", "cvt.s32.f32", "cvt.f32.s32", "cvt.rn.s32.s32", "cvt.rni.f32.s32", "cvt.rz.ftz.f16.f64"]
)
def test_roundings_that_ptx_demands_or_forbids(run, name: str) -> None:
    kinds = name.split(".")[-2:]
    with pytest.raises(Unsupported, match="error"):
        run(name, " ".join(register(k) for k in kinds), [1] * 32)
