"""f16 and bf16 against exact fractions, bit for bit."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from reference import (
    BF16,
    F16,
    F32,
    Format,
    Value,
    add,
    corners,
    decode,
    encode,
    flush,
    flush_after_rounding,
    mul,
    pairs,
    triples,
)

FORMATS = {"f16": F16, "bf16": BF16}


def check(name: str, inputs: list, got: list[int], want: list[int]) -> None:
    wrong = [(tuple(map(hex, i)), hex(g), hex(w)) for i, g, w in zip(inputs, got, want, strict=True) if g != w]
    assert not wrong, (name, len(wrong), wrong[:5])


def finish(fmt: Format, exact: Value, form: str) -> int:
    bits = flush_after_rounding(fmt, exact) if "ftz" in form else encode(fmt, exact)
    one = fmt.bias << fmt.fraction
    if "sat" in form:
        bits = 0 if fmt.is_nan(bits) or bits >> 15 else min(bits, one)
    if "relu" in form:
        bits = 0 if bits >> 15 else bits
    return bits


# bf16 has neither .ftz nor .sat.
@pytest.mark.parametrize(
    ("kind", "form"), [("f16", f) for f in ("", ".rn", ".ftz", ".sat", ".rn.ftz.sat")] + [("bf16", ""), ("bf16", ".rn")]
)
@pytest.mark.parametrize("opcode", ["add", "sub", "mul"])
def test_two_operands(run, opcode: str, kind: str, form: str) -> None:
    fmt = FORMATS[kind]
    inputs = pairs(corners(fmt))
    [got] = run(f"{opcode}{form}.{kind}", "r2 r2 r2", *zip(*inputs))
    want = []
    for a, b in inputs:
        if "ftz" in form:
            a, b = flush(fmt, a), flush(fmt, b)
        x, y = decode(fmt, a), decode(fmt, b ^ (0x8000 if opcode == "sub" else 0))
        want.append(finish(fmt, mul(x, y) if opcode == "mul" else add(x, y, "rn"), form))
    check(opcode, inputs, got, want)


@pytest.mark.parametrize(
    ("kind", "form"), [("f16", f) for f in ("", ".relu", ".sat", ".ftz")] + [("bf16", ""), ("bf16", ".relu")]
)
def test_fma_rounds_once(run, kind: str, form: str) -> None:
    fmt = FORMATS[kind]
    values = corners(fmt)
    inputs = triples(values)
    for a, b in pairs(values, 1500, seed=5):  # near cancellations, and sums that lie beside the middle of two halves
        c = encode(fmt, mul(decode(fmt, a), decode(fmt, b))) ^ 0x8000
        inputs += [(a, b, c), (a, b, c ^ 1), (a, b, 1), (a, b, 0x8001)]
    [got] = run(f"fma.rn{form}.{kind}", "r2 r2 r2 r2", *zip(*inputs))
    want = []
    for t in inputs:
        a, b, c = (decode(fmt, flush(fmt, v) if form == ".ftz" else v) for v in t)
        want.append(finish(fmt, add(mul(a, b), c, "rn"), form))
    check("fma", inputs, got, want)
    packed = [tuple(v << 16 | w for v, w in zip(t, u)) for t, u in zip(inputs, inputs[::-1])]
    [got] = run(f"fma.rn{form}.{kind}x2", "r4 r4 r4 r4", *zip(*packed))
    check("fma x2", packed, got, [v << 16 | w for v, w in zip(want, want[::-1])])


@pytest.mark.parametrize("form", ["", ".NaN", ".NaN.xorsign.abs"])
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("opcode", ["min", "max"])
def test_min_max(run, opcode: str, kind: str, form: str) -> None:
    fmt = FORMATS[kind]
    inputs = pairs(corners(fmt))
    want = []
    for a, b in inputs:
        sign = (a ^ b) & 0x8000 if "xorsign" in form else 0
        if "abs" in form:
            a, b = a & 0x7FFF, b & 0x7FFF
        numbers = [v for v in (a, b) if not fmt.is_nan(v)]
        if not numbers or (len(numbers) == 1 and "NaN" in form):
            want.append(0x7FFF)
            continue
        key = lambda v: (float(decode(fmt, v)), not v >> 15)  # noqa: E731
        want.append((min if opcode == "min" else max)(numbers, key=key) | sign)
    check(opcode, inputs, run(f"{opcode}{form}.{kind}", "r2 r2 r2", *zip(*inputs))[0], want)
    packed = [tuple(v << 16 | w for v, w in zip(t, u)) for t, u in zip(inputs, inputs[::-1])]
    [got] = run(f"{opcode}{form}.{kind}x2", "r4 r4 r4", *zip(*packed))
    check(opcode + " x2", packed, got, [v << 16 | w for v, w in zip(want, want[::-1])])


def test_signs(run) -> None:
    """NaN becomes the canonical one."""
    values = list(range(0, 65536, 7))
    neg = lambda fmt, v: fmt.nan if fmt.is_nan(v) else v ^ 0x8000  # noqa: E731
    assert run("neg.f16", "r2 r2", values)[0] == [neg(F16, v) for v in values]
    assert run("abs.bf16", "r2 r2", values)[0] == [BF16.nan if BF16.is_nan(v) else v & 0x7FFF for v in values]
    halves = list(zip(values, values[::-1]))
    got = run("neg.bf16x2", "r4 r4", [v << 16 | w for v, w in halves])[0]
    assert got == [neg(BF16, v) << 16 | neg(BF16, w) for v, w in halves]


# PTX ISA: ex2.approx.f16 2^-9.9 relative, .ftz.bf16 2^-7; tanh 2^-10.987 (f16) and 2^-8 (bf16), absolute, relative.
@pytest.mark.parametrize(
    ("name", "fmt", "function", "bound"),
    [
        ("ex2.approx.f16", F16, lambda x: 2.0**x, 2**-9.9),
        ("ex2.approx.ftz.bf16", BF16, lambda x: 2.0**x, 2**-7),
        ("tanh.approx.f16", F16, math.tanh, 2**-10.987),
        ("tanh.approx.bf16", BF16, math.tanh, 2**-8),
    ],
)
def test_functions(run, name: str, fmt: Format, function, bound: float) -> None:
    inputs = [
        v
        for v in range(65536)
        if not fmt.is_nan(v) and abs(float(decode(fmt, v))) < 14 and abs(float(decode(fmt, v))) > 1e-4
    ]
    [got] = run(name, "r2 r2", inputs)
    assert max(abs(float(decode(fmt, g)) / function(float(decode(fmt, i))) - 1) for i, g in zip(inputs, got)) <= bound


def test_comparisons(run) -> None:
    inputs = pairs(corners(F16))
    values = [(float(decode(F16, a)), float(decode(F16, b))) for a, b in inputs]
    less, unordered = [x < y for x, y in values], [x != x or y != y for x, y in values]
    assert run("setp.lt.f16", "p r2 r2", *zip(*inputs))[0] == less
    assert run("setp.ltu.f16", "p r2 r2", *zip(*inputs))[0] == [p or u for p, u in zip(less, unordered)]
    packed = [tuple(v << 16 | w for v, w in zip(t, u)) for t, u in zip(inputs, inputs[::-1])]
    low, high = run("setp.lt.f16x2", "pair:p,p r4 r4", *zip(*packed), results=2)
    assert (low, high) == (less[::-1], less)
    want = [(0x3C00 << 16 if p else 0) | (0x3C00 if q else 0) for p, q in zip(less, less[::-1])]
    assert run("set.lt.f16x2.f16x2", "r4 r4 r4", *zip(*packed))[0] == want
    assert run("set.nan.u32.f16", "r4 r2 r2", *zip(*inputs))[0] == [0xFFFFFFFF if u else 0 for u in unordered]


@pytest.mark.parametrize("kind", FORMATS)
def test_mixed_precision(run, kind: str) -> None:
    """fma.rn.f32.f16: halves times halves, in single precision."""
    fmt = FORMATS[kind]
    halves, singles = triples(corners(fmt)), triples(corners(F32))
    inputs = [(a, b, c) for (a, b, _), (_, _, c) in zip(halves, singles)]
    [got] = run(f"fma.rn.f32.{kind}", "r4 r2 r2 r4", *zip(*inputs))
    check(
        "mixed",
        inputs,
        got,
        [encode(F32, add(mul(decode(fmt, a), decode(fmt, b)), decode(F32, c), "rn")) for a, b, c in inputs],
    )
    assert Fraction(1) == decode(fmt, fmt.bias << fmt.fraction)
