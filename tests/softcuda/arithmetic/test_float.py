"""f32 and f64 against exact fractions, bit for bit; approximations against the bounds NVIDIA publishes."""

from __future__ import annotations

import math
import random
import struct

import pytest
from reference import (
    F32,
    F64,
    Format,
    add,
    corners,
    decode,
    div,
    encode,
    flush,
    flush_after_rounding,
    mul,
    negative,
    pairs,
    sqrt_encode,
    triples,
)

FORMATS = {"f32": F32, "f64": F64}
ROUNDINGS = ["rn", "rz", "rm", "rp"]


def agree(fmt: Format, got: int, want: int) -> bool:
    """f64 keeps payloads, so any NaN will do; f32's is 0x7fffffff."""
    return got == want or (fmt is F64 and fmt.is_nan(got) and fmt.is_nan(want))


def check(fmt: Format, name: str, inputs: list[tuple[int, ...]], got: list[int], want: list[int]) -> None:
    wrong = [
        (tuple(map(hex, i)), hex(g), hex(w)) for i, g, w in zip(inputs, got, want, strict=True) if not agree(fmt, g, w)
    ]
    assert not wrong, (name, len(wrong), wrong[:5])


@pytest.mark.parametrize("mode", ROUNDINGS)
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("opcode", ["add", "sub", "mul", "div"])
def test_two_operands(run, opcode: str, kind: str, mode: str) -> None:
    fmt = FORMATS[kind]
    inputs = pairs(corners(fmt))
    name = f"{opcode}.{mode}.{kind}"
    r = f"r{fmt.bits // 8}"
    [got] = run(name, f"{r} {r} {r}", *zip(*inputs))
    want = []
    for a, b in inputs:
        x, y = decode(fmt, a), decode(fmt, b)
        if opcode == "sub":
            y = decode(fmt, b ^ 1 << fmt.bits - 1)
        exact = {
            "add": lambda: add(x, y, mode),
            "sub": lambda: add(x, y, mode),
            "mul": lambda: mul(x, y),
            "div": lambda: div(x, y),
        }
        want.append(encode(fmt, exact[opcode](), mode))
    check(fmt, name, inputs, got, want)


@pytest.mark.parametrize("mode", ROUNDINGS)
@pytest.mark.parametrize("kind", FORMATS)
def test_fma_is_fused(run, kind: str, mode: str) -> None:
    fmt = FORMATS[kind]
    values = corners(fmt)
    inputs = triples(values)
    # Sums that nearly cancel: c is -(a * b) rounded.
    for a, b in pairs(values, 1500, seed=9):
        c = encode(fmt, mul(decode(fmt, a), decode(fmt, b))) ^ 1 << fmt.bits - 1
        inputs += [(a, b, c), (a, b, c ^ 1)]
    name, r = f"fma.{mode}.{kind}", f"r{fmt.bits // 8}"
    [got] = run(name, f"{r} {r} {r} {r}", *zip(*inputs))
    want = [encode(fmt, add(mul(decode(fmt, a), decode(fmt, b)), decode(fmt, c), mode), mode) for a, b, c in inputs]
    check(fmt, name, inputs, got, want)


@pytest.mark.parametrize("mode", ROUNDINGS)
@pytest.mark.parametrize("kind", FORMATS)
def test_rcp_and_sqrt(run, kind: str, mode: str) -> None:
    fmt = FORMATS[kind]
    inputs = [(v,) for v in corners(fmt, extra=1000)]
    r = f"r{fmt.bits // 8}"
    [got] = run(f"rcp.{mode}.{kind}", f"{r} {r}", *zip(*inputs))
    one = decode(fmt, fmt.bias << fmt.fraction)
    check(fmt, "rcp", inputs, got, [encode(fmt, div(one, decode(fmt, a)), mode) for (a,) in inputs])
    [got] = run(f"sqrt.{mode}.{kind}", f"{r} {r}", *zip(*inputs))
    check(fmt, "sqrt", inputs, got, [sqrt_encode(fmt, decode(fmt, a), mode) for (a,) in inputs])


@pytest.mark.parametrize("mode", ROUNDINGS)
@pytest.mark.parametrize("modifiers", ["ftz", "sat", "ftz.sat"])
def test_flush_and_saturate(run, mode: str, modifiers: str) -> None:
    values = corners(F32)
    inputs = triples(values)
    name = f"fma.{mode}.{modifiers}.f32"
    [got] = run(name, "r4 r4 r4 r4", *zip(*inputs))
    want = []
    for triple in inputs:
        a, b, c = (decode(F32, flush(F32, v) if "ftz" in modifiers else v) for v in triple)
        exact = add(mul(a, b), c, mode)
        bits = flush_after_rounding(F32, exact, mode) if "ftz" in modifiers else encode(F32, exact, mode)
        if "sat" in modifiers:
            bits = 0 if F32.is_nan(bits) or bits >> 31 else min(bits, 0x3F800000)
        want.append(bits)
    check(F32, name, inputs, got, want)


@pytest.mark.parametrize("form", ["", ".NaN", ".ftz", ".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs"])
@pytest.mark.parametrize("opcode", ["min", "max"])
def test_min_max(run, opcode: str, form: str) -> None:
    inputs = pairs(corners(F32))
    [got] = run(f"{opcode}{form}.f32", "r4 r4 r4", *zip(*inputs))
    want = []
    for a, b in inputs:
        if "ftz" in form:
            a, b = flush(F32, a), flush(F32, b)
        sign = (a ^ b) & 1 << 31 if "xorsign" in form else 0
        if "abs" in form:
            a, b = a & 0x7FFFFFFF, b & 0x7FFFFFFF
        numbers = [v for v in (a, b) if not F32.is_nan(v)]
        if not numbers or (len(numbers) == 1 and "NaN" in form):
            want.append(F32.nan)
            continue
        key = lambda v: (float(decode(F32, v)), not v >> 31)  # noqa: E731  -0 below +0
        want.append((min if opcode == "min" else max)(numbers, key=key) | sign)
    check(F32, opcode + form, inputs, got, want)


def test_three_operand_min(run) -> None:
    inputs = triples(corners(F32))
    [got] = run("min.NaN.abs.f32", "r4 r4 r4 r4", *zip(*inputs))
    want = [F32.nan if any(map(F32.is_nan, t)) else min(v & 0x7FFFFFFF for v in t) for t in inputs]
    check(F32, "min3", inputs, got, want)


def test_f32x2(run) -> None:
    inputs = triples(corners(F32))
    wide = [tuple(v << 32 | w for v, w in zip(t, u)) for t, u in zip(inputs, inputs[1:] + inputs[:1])]
    [got] = run("fma.rn.f32x2", "r8 r8 r8 r8", *zip(*wide))
    one = lambda t: encode(F32, add(mul(decode(F32, t[0]), decode(F32, t[1])), decode(F32, t[2]), "rn"))  # noqa: E731
    assert got == [one(t) << 32 | one(u) for t, u in zip(inputs, inputs[1:] + inputs[:1])]


def test_signs_and_classes(run) -> None:
    """neg and abs are additions on the hardware: NaN becomes the canonical one."""
    values = corners(F32)
    other = values[::-1]
    assert run("neg.f32", "r4 r4", values)[0] == [F32.nan if F32.is_nan(v) else v ^ 1 << 31 for v in values]
    assert run("abs.ftz.f32", "r4 r4", values)[0] == [
        F32.nan if F32.is_nan(v) else flush(F32, v) & 0x7FFFFFFF for v in values
    ]
    assert run("copysign.f32", "r4 r4 r4", values, other)[0] == [
        a & 1 << 31 | b & 0x7FFFFFFF for a, b in zip(values, other)
    ]
    tests = {
        "finite": math.isfinite,
        "infinite": math.isinf,
        "number": lambda x: x == x,
        "notanumber": math.isnan,
        "normal": lambda x: math.isfinite(x) and (abs(x) >= 2**-126 or x == 0),
        "subnormal": lambda x: 0 < abs(x) < 2**-126,
    }
    for name, test in tests.items():
        assert run(f"testp.{name}.f32", "p r4", values)[0] == [test(float(decode(F32, v))) for v in values], name


def f32_bits(x: float) -> int:
    return struct.unpack("<I", struct.pack("<f", x))[0]


def f32_value(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def samples(low: float, high: float, count: int = 20000) -> list[int]:
    rng = random.Random(7)
    return [f32_bits(rng.uniform(low, high)) for _ in range(count)]


def spread(count: int = 20000) -> list[int]:
    """Positive normal numbers of all sizes."""
    rng = random.Random(8)
    return [rng.randrange(0x00800000, 0x7F800000) for _ in range(count)]


# PTX ISA 9.x: maximum relative error 2^-22.5 (ex2), 2^-22.9 (rsqrt), 2^-11 (tanh), 1 ulp (rcp, sqrt: 2^-23 relative).
@pytest.mark.parametrize(
    ("name", "function", "inputs", "bound"),
    [
        ("ex2.approx.ftz", lambda x: 2.0**x, samples(-126, 127.99), 2**-22.5),
        ("ex2.approx", lambda x: 2.0**x, samples(-1, 1), 2**-22.5),
        ("rsqrt.approx", lambda x: 1 / math.sqrt(x), spread(), 2**-22.9),
        ("sqrt.approx", math.sqrt, spread(), 2**-23),
        ("rcp.approx.ftz", lambda x: 1 / x, [v for v in spread() if v < 0x7E800000], 2**-23),
        ("tanh.approx", math.tanh, samples(-12, 12), 2**-11),
        ("tanh.approx", math.tanh, [f32_bits(10.0**-e * k) for e in range(1, 37) for k in (1, -3, 7)], 2**-11),
    ],
)
def test_relative_error(run, name: str, function, inputs: list[int], bound: float) -> None:
    [got] = run(f"{name}.f32", "r4 r4", inputs)
    worst = max((abs(f32_value(g) / function(f32_value(i)) - 1), f32_value(i)) for i, g in zip(inputs, got))
    assert worst[0] <= bound, worst


# sin and cos: 2^-20.5 absolute in [-2 pi, 2 pi]; lg2: 2^-22 absolute in (0.5, 2), 2 ulp = 2^-22 relative elsewhere.
@pytest.mark.parametrize(
    ("name", "function", "inputs", "bound"),
    [
        ("sin.approx", math.sin, samples(-2 * math.pi, 2 * math.pi), 2**-20.5),
        ("cos.approx", math.cos, samples(-2 * math.pi, 2 * math.pi), 2**-20.5),
        ("sin.approx", math.sin, samples(-1e4, 1e4), 2**-20.5),
        ("lg2.approx", math.log2, samples(0.5, 2), 2**-22),
    ],
)
def test_absolute_error(run, name: str, function, inputs: list[int], bound: float) -> None:
    [got] = run(f"{name}.f32", "r4 r4", inputs)
    worst = max((abs(f32_value(g) - function(f32_value(i))), f32_value(i)) for i, g in zip(inputs, got))
    assert worst[0] <= bound, worst


def test_lg2_far_from_one(run) -> None:
    inputs = [v for v in spread() if not 0.5 < f32_value(v) < 2] + list(range(1, 200))
    [got] = run("lg2.approx.f32", "r4 r4", inputs)
    assert max(abs(f32_value(g) / math.log2(f32_value(i)) - 1) for i, g in zip(inputs, got)) <= 2**-22


INFINITY, NAN, MINUS = 0x7F800000, 0x7FFFFFFF, 1 << 31


@pytest.mark.parametrize(
    ("name", "table"),
    [
        (
            "ex2.approx",
            {MINUS | INFINITY: 0, 0: 0x3F800000, MINUS: 0x3F800000, INFINITY: INFINITY, NAN: NAN, f32_bits(-149.0): 1},
        ),
        ("ex2.approx.ftz", {f32_bits(-126.5): 0, 1: 0x3F800000}),
        (
            "lg2.approx",
            {
                MINUS | INFINITY: NAN,
                f32_bits(-1.0): NAN,
                MINUS: MINUS | INFINITY,
                0: MINUS | INFINITY,
                INFINITY: INFINITY,
                0x3F800000: 0,
                NAN: NAN,
                1: f32_bits(-149.0),
            },
        ),
        ("lg2.approx.ftz", {1: MINUS | INFINITY, MINUS | 1: MINUS | INFINITY}),
        ("sin.approx", {INFINITY: NAN, MINUS | INFINITY: NAN, 0: 0, MINUS: MINUS, NAN: NAN}),
        ("cos.approx", {INFINITY: NAN, 0: 0x3F800000, MINUS: 0x3F800000, NAN: NAN}),
        (
            "tanh.approx",
            {MINUS | INFINITY: MINUS | 0x3F800000, MINUS: MINUS, 0: 0, INFINITY: 0x3F800000, NAN: NAN, 1: 1},
        ),
        ("rcp.approx", {MINUS | INFINITY: MINUS, MINUS: MINUS | INFINITY, 0: INFINITY, INFINITY: 0, NAN: NAN}),
        ("rcp.approx.ftz", {1: INFINITY, MINUS | 1: MINUS | INFINITY, 0x7F000000: 0}),
        ("sqrt.approx", {MINUS | INFINITY: NAN, f32_bits(-1.0): NAN, MINUS: MINUS, 0: 0, INFINITY: INFINITY, NAN: NAN}),
        (
            "rsqrt.approx",
            {MINUS | INFINITY: NAN, f32_bits(-1.0): NAN, MINUS: MINUS | INFINITY, 0: INFINITY, INFINITY: 0, NAN: NAN},
        ),
    ],
)
def test_special_values(run, name: str, table: dict[int, int]) -> None:
    [got] = run(f"{name}.f32", "r4 r4", list(table))
    assert [hex(v) for v in got] == [hex(v) for v in table.values()]


def test_divisions_that_approximate(run) -> None:
    inputs = [(a, b) for a, b in zip(spread(), spread()[::-1]) if 2**-126 <= f32_value(b) <= 2**126]
    for form in ("approx", "full", "approx.ftz"):
        [got] = run(f"div.{form}.f32", "r4 r4 r4", *zip(*inputs))
        for (a, b), g in zip(inputs, got):
            exact = f32_value(a) / f32_value(b)
            if 2**-126 <= exact < 2**128:
                assert abs(f32_value(g) / exact - 1) <= 2**-22
    large = f32_bits(1.5 * 2**126)
    assert run("div.approx.f32", "r4 r4 r4", [0x3F800000, INFINITY], [large, large])[0] == [0, NAN]


def test_gross_reciprocals(run) -> None:
    """rcp.approx.ftz.f64 answers an upper word good to 2^-20."""
    rng = random.Random(5)
    inputs = [struct.unpack("<Q", struct.pack("<d", rng.uniform(1, 2) * 2.0**e))[0] for e in range(-1000, 1000)]
    value = lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0]  # noqa: E731
    for name, function in (("rcp", lambda x: 1 / x), ("rsqrt", lambda x: x**-0.5)):
        [got] = run(f"{name}.approx.ftz.f64", "r8 r8", inputs)
        assert all(g & 0xFFFFFFFF == 0 for g in got)
        assert max(abs(value(g) / function(value(i)) - 1) for i, g in zip(inputs, got)) <= 2**-19
    assert not negative(value(run("rcp.approx.ftz.f64", "r8 r8", [0])[0][0]))
