"""setp, set, selp and slct against Python's comparisons, whose NaN is IEEE's."""

from __future__ import annotations

import operator

import pytest
from reference import F32, F64, corners, decode, flush, integers, pairs, signed

ORDERED = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
UNSIGNED = {"lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge}


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32", "u64", "s64", "b32"])
def test_integers(run, kind: str) -> None:
    bits = int(kind[1:])
    inputs = pairs(integers(bits))
    values = [tuple(signed(v, bits) if kind[0] == "s" else v for v in t) for t in inputs]
    names = {"eq": operator.eq, "ne": operator.ne} if kind[0] == "b" else ORDERED | (UNSIGNED if kind[0] == "u" else {})
    for name, f in names.items():
        want = [f(*t) for t in values]
        r = f"r{bits // 8}"
        assert run(f"setp.{name}.{kind}", f"p {r} {r}", *zip(*inputs))[0] == want, name
        p, q = run(f"setp.{name}.{kind}", f"pair:p,p {r} {r}", *zip(*inputs), results=2)
        assert p == want and q == [not w for w in want], name


@pytest.mark.parametrize("form", ["f32", "ftz.f32", "f64"])
def test_floats(run, form: str) -> None:
    fmt = F64 if form == "f64" else F32
    r = f"r{fmt.bits // 8}"
    inputs = pairs(corners(fmt))
    values = [tuple(float(decode(fmt, flush(fmt, v) if "ftz" in form else v)) for v in t) for t in inputs]
    for name, f in ORDERED.items():
        unordered = [x != x or y != y for x, y in values]
        holds = [f(x, y) for x, y in values]
        assert run(f"setp.{name}.{form}", f"p {r} {r}", *zip(*inputs))[0] == [
            h and not u for h, u in zip(holds, unordered)
        ], name
        assert run(f"setp.{name}u.{form}", f"p {r} {r}", *zip(*inputs))[0] == [
            h or u for h, u in zip(holds, unordered)
        ], name
    assert run(f"setp.num.{form}", f"p {r} {r}", *zip(*inputs))[0] == [not u for u in unordered]
    assert run(f"setp.nan.{form}", f"p {r} {r}", *zip(*inputs))[0] == unordered


@pytest.mark.parametrize(("name", "f"), [("and", operator.and_), ("or", operator.or_), ("xor", operator.xor)])
def test_combined_with_a_predicate(run, name: str, f) -> None:
    inputs = pairs(integers(32))
    c = [i % 3 == 0 for i in range(len(inputs))]
    p, q = run(f"setp.lt.{name}.s32", "pair:p,p r4 r4 p", *zip(*inputs), c, results=2)
    less = [signed(a, 32) < signed(b, 32) for a, b in inputs]
    assert p == [f(t, y) for t, y in zip(less, c)]
    assert q == [f(not t, y) for t, y in zip(less, c)]


def test_set(run) -> None:
    inputs = pairs(corners(F32))
    greater = [float(decode(F32, a)) > float(decode(F32, b)) for a, b in inputs]
    assert run("set.gt.u32.f32", "r4 r4 r4", *zip(*inputs))[0] == [0xFFFFFFFF if g else 0 for g in greater]
    assert run("set.gt.f32.f32", "r4 r4 r4", *zip(*inputs))[0] == [0x3F800000 if g else 0 for g in greater]


@pytest.mark.parametrize("kind", ["b16", "u32", "f32", "s64", "f64"])
def test_selp(run, kind: str) -> None:
    bits = int(kind[1:])
    inputs = pairs(integers(bits))
    c = [i % 5 < 2 for i in range(len(inputs))]
    r = f"r{bits // 8}"
    assert run(f"selp.{kind}", f"{r} {r} {r} p", *zip(*inputs), c)[0] == [a if p else b for (a, b), p in zip(inputs, c)]


def test_slct(run) -> None:
    values = corners(F32)
    inputs = [(v, v ^ 0x5A5A5A5A) for v in values]
    want = [a if float(decode(F32, c)) >= 0 else b for (a, b), c in zip(inputs, values)]  # NaN: b; -0: a
    assert run("slct.u32.f32", "r4 r4 r4 r4", *zip(*inputs), values)[0] == want
    assert run("slct.f32.s32", "r4 r4 r4 r4", *zip(*inputs), values)[0] == [
        b if c >> 31 else a for (a, b), c in zip(inputs, values)
    ]
