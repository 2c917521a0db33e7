"""Integers and bits against Python's own integers."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from reference import Unsupported, integers, pairs, signed, triples

TYPES = ["u16", "s16", "u32", "s32", "u64", "s64"]


def bits_of(kind: str) -> int:
    return int(kind[1:])


def of(kind: str, value: int) -> int:
    return signed(value, bits_of(kind)) if kind[0] == "s" else value


def wrap(kind: str, value: int) -> int:
    return value & (1 << bits_of(kind)) - 1


def clamp(kind: str, value: int) -> int:
    n = bits_of(kind)
    low, high = (-(1 << n - 1), (1 << n - 1) - 1) if kind[0] == "s" else (0, (1 << n) - 1)
    return wrap(kind, min(max(value, low), high))


def registers(*kinds: str) -> str:
    return " ".join(k if k == "p" else f"r{bits_of(k) // 8}" for k in kinds)


def check(got: list[int], want: list[int], inputs: list[tuple[int, ...]]) -> None:
    wrong = [(tuple(map(hex, i)), hex(g), hex(w)) for i, g, w in zip(inputs, got, want, strict=True) if g != w]
    assert not wrong, (len(wrong), wrong[:5])


def quotient(kind: str, a: int, b: int) -> int:
    if b == 0:
        return -1
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def remainder(kind: str, a: int, b: int) -> int:
    return -1 if b == 0 else a - b * quotient(kind, a, b)


def halves(kind: str, f: Callable[[int, int], int]) -> Callable[[str, int, int], int]:
    return lambda _, a, b: sum(
        wrap(kind, f(of(kind, a >> s & 0xFFFF), of(kind, b >> s & 0xFFFF))) << s for s in (0, 16)
    )


BINARY: list[tuple[str, list[str], Callable[[str, int, int], int]]] = [
    ("add", TYPES, lambda k, a, b: a + b),
    ("sub", TYPES, lambda k, a, b: a - b),
    ("add.sat", ["s32"], lambda k, a, b: clamp(k, a + b)),
    ("sub.sat", ["s32"], lambda k, a, b: clamp(k, a - b)),
    ("mul.lo", TYPES, lambda k, a, b: a * b),
    ("mul.hi", TYPES, lambda k, a, b: a * b >> bits_of(k)),
    ("div", TYPES, quotient),
    ("rem", TYPES, remainder),
    ("min", TYPES, lambda k, a, b: min(a, b)),
    ("max", TYPES, lambda k, a, b: max(a, b)),
    ("min.relu", ["s32"], lambda k, a, b: max(min(a, b), 0)),
    ("max.relu", ["s32"], lambda k, a, b: max(a, b, 0)),
    ("and", ["b16", "b32", "b64"], lambda k, a, b: a & b),
    ("or", ["b16", "b32", "b64"], lambda k, a, b: a | b),
    ("xor", ["b16", "b32", "b64"], lambda k, a, b: a ^ b),
    ("mul24.lo", ["u32"], lambda k, a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    ("mul24.hi", ["u32"], lambda k, a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 16),
    ("mul24.lo", ["s32"], lambda k, a, b: signed(a, 24) * signed(b, 24)),
    ("mul24.hi", ["s32"], lambda k, a, b: signed(a, 24) * signed(b, 24) >> 16),
    ("bmsk.clamp", ["b32"], lambda k, a, b: 0 if a > 31 else ((1 << min(b, 32)) - 1) << a),
    ("bmsk.wrap", ["b32"], lambda k, a, b: ((1 << b % 32) - 1) << a % 32),
]
PACKED = [
    ("add.u16x2", halves("u16", lambda a, b: a + b)),
    ("add.s16x2", halves("s16", lambda a, b: a + b)),
    ("sub.u16x2", halves("u16", lambda a, b: a - b)),
    ("min.u16x2", halves("u16", min)),
    ("max.s16x2", halves("s16", max)),
    ("min.s16x2", halves("s16", min)),
    ("max.s16x2.relu", halves("s16", lambda a, b: max(a, b, 0))),
    ("min.relu.s16x2", halves("s16", lambda a, b: max(min(a, b), 0))),
]


@pytest.mark.parametrize(("opcode", "kind", "f"), [(o, k, f) for o, kinds, f in BINARY for k in kinds])
def test_two_operands(run, opcode: str, kind: str, f) -> None:
    inputs = pairs(integers(bits_of(kind)))
    [got] = run(f"{opcode}.{kind}", registers(kind, kind, kind), *zip(*inputs))
    check(got, [wrap(kind, f(kind, of(kind, a), of(kind, b))) for a, b in inputs], inputs)


@pytest.mark.parametrize(("name", "f"), PACKED)
def test_packed(run, name: str, f) -> None:
    inputs = pairs(integers(32))
    [got] = run(name, "r4 r4 r4", *zip(*inputs))
    check(got, [f("", a, b) for a, b in inputs], inputs)


@pytest.mark.parametrize("kind", TYPES)
def test_mad_and_sad(run, kind: str) -> None:
    inputs = triples(integers(bits_of(kind)))
    n = bits_of(kind)
    values = [tuple(of(kind, v) for v in t) for t in inputs]
    r = registers(kind, kind, kind, kind)
    check(run(f"mad.lo.{kind}", r, *zip(*inputs))[0], [wrap(kind, a * b + c) for a, b, c in values], inputs)
    check(run(f"mad.hi.{kind}", r, *zip(*inputs))[0], [wrap(kind, (a * b >> n) + c) for a, b, c in values], inputs)
    check(run(f"sad.{kind}", r, *zip(*inputs))[0], [wrap(kind, abs(a - b) + c) for a, b, c in values], inputs)


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32"])
def test_wide(run, kind: str) -> None:
    inputs = pairs(integers(bits_of(kind)))
    wide = f"{kind[0]}{2 * bits_of(kind)}"
    [got] = run(f"mul.wide.{kind}", registers(wide, kind, kind), *zip(*inputs))
    check(got, [wrap(wide, of(kind, a) * of(kind, b)) for a, b in inputs], inputs)
    added = [(a, b, (a * 0x123456789 + b) & (1 << 2 * bits_of(kind)) - 1) for a, b in inputs]
    [got] = run(f"mad.wide.{kind}", registers(wide, kind, kind, wide), *zip(*added))
    check(got, [wrap(wide, of(kind, a) * of(kind, b) + c) for a, b, c in added], added)


def test_saturating_mad(run) -> None:
    inputs = triples(integers(32))
    values = [tuple(signed(v, 32) for v in t) for t in inputs]
    [got] = run("mad.hi.sat.s32", "r4 r4 r4 r4", *zip(*inputs))
    check(got, [clamp("s32", (a * b >> 32) + c) for a, b, c in values], inputs)
    [got] = run("mad24.hi.sat.s32", "r4 r4 r4 r4", *zip(*inputs))
    check(got, [clamp("s32", (signed(a, 24) * signed(b, 24) >> 16) + c) for a, b, c in values], inputs)


UNARY: list[tuple[str, list[str], str | None, Callable[[str, int], int]]] = [
    ("abs", ["s16", "s32", "s64"], None, lambda k, a: abs(a)),
    ("neg", ["s16", "s32", "s64"], None, lambda k, a: -a),
    ("not", ["b16", "b32", "b64"], None, lambda k, a: ~a),
    ("cnot", ["b16", "b32", "b64"], None, lambda k, a: a == 0),
    ("popc", ["b32", "b64"], "u32", lambda k, a: a.bit_count()),
    ("clz", ["b32", "b64"], "u32", lambda k, a: bits_of(k) - a.bit_length()),
    ("brev", ["b32", "b64"], None, lambda k, a: int(f"{a:0{bits_of(k)}b}"[::-1], 2)),
    ("bfind", ["u32", "s32", "u64", "s64"], "u32", lambda k, a: (~a if a < 0 else a).bit_length() - 1),
    (
        "bfind.shiftamt",
        ["u32", "s32", "u64", "s64"],
        "u32",
        lambda k, a: bits_of(k) - (~a if a < 0 else a).bit_length() if a not in (0, -1) else -1,
    ),
    ("mov", ["b16", "u32", "s64", "f32", "f64"], None, lambda k, a: a),
]


@pytest.mark.parametrize(
    ("opcode", "kind", "result", "f"), [(o, k, r or k, f) for o, kinds, r, f in UNARY for k in kinds]
)
def test_one_operand(run, opcode: str, kind: str, result: str, f) -> None:
    values = integers(bits_of(kind), extra=300)
    [got] = run(f"{opcode}.{kind}", registers(result, kind), values)
    check(got, [wrap(result, f(kind, of(kind, a))) for a in values], [(a,) for a in values])


@pytest.mark.parametrize("kind", ["b16", "b32", "b64", "u16", "s16", "u32", "s32", "u64", "s64"])
def test_shifts_clamp(run, kind: str) -> None:
    n = bits_of(kind)
    inputs = [(a, s) for a in integers(n) for s in (0, 1, n // 2, n - 1, n, n + 1, 64, 255, 1 << 31, (1 << 32) - 1)]
    if kind[0] == "b":
        [got] = run(f"shl.{kind}", registers(kind, kind, "u32"), *zip(*inputs))
        check(got, [wrap(kind, a << s) if s < n else 0 for a, s in inputs], inputs)
    [got] = run(f"shr.{kind}", registers(kind, kind, "u32"), *zip(*inputs))
    check(got, [wrap(kind, of(kind, a) >> min(s, n)) for a, s in inputs], inputs)


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_funnel_shifts(run, mode: str) -> None:
    rng = random.Random(1)
    inputs = [
        (rng.getrandbits(32), rng.getrandbits(32), s) for s in [*range(70), 1 << 31, (1 << 32) - 1] for _ in range(8)
    ]
    amount = (lambda s: min(s, 32)) if mode == "clamp" else (lambda s: s & 31)
    [got] = run(f"shf.l.{mode}.b32", "r4 r4 r4 r4", *zip(*inputs))
    check(got, [((b << 32 | a) << amount(s) >> 32) & 0xFFFFFFFF for a, b, s in inputs], inputs)
    [got] = run(f"shf.r.{mode}.b32", "r4 r4 r4 r4", *zip(*inputs))
    check(got, [((b << 32 | a) >> amount(s)) & 0xFFFFFFFF for a, b, s in inputs], inputs)


def field(kind: str, a: int, position: int, length: int) -> int:
    """bfe, bit by bit as PTX writes it; of 64 bits, an H200 takes more than the low byte of position and length."""
    n = bits_of(kind)
    pos, count = (position & 0xFF, length & 0xFF) if n == 32 else (position, length)
    sign = 0 if kind[0] == "u" or count == 0 else a >> min(pos + count - 1, n - 1) & 1
    return sum((a >> pos + i & 1 if i < count and pos + i < n else sign) << i for i in range(n))


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_bfe(run, kind: str) -> None:
    rng = random.Random(2)
    n = bits_of(kind)
    ends = [0, 1, 5, n // 2, n - 1, n, n + 1, 200, 255, 256 + 3]
    inputs = [
        (a, p, c)
        for a in [0, (1 << n) - 1, 1 << n - 1, *[rng.getrandbits(n) for _ in range(12)]]
        for p in ends
        for c in ends
    ]
    [got] = run(f"bfe.{kind}", registers(kind, kind, "u32", "u32"), *zip(*inputs))
    check(got, [field(kind, *t) for t in inputs], inputs)


@pytest.mark.parametrize("kind", ["b32", "b64"])
def test_bfi(run, kind: str) -> None:
    rng = random.Random(3)
    n = bits_of(kind)
    ends = [0, 1, 5, n // 2, n - 1, n, 255]
    inputs = [(rng.getrandbits(n), rng.getrandbits(n), p, c) for p in ends for c in ends for _ in range(6)]

    def want(a: int, b: int, p: int, c: int) -> int:
        for i in range(c):
            if p + i < n:
                b = b & ~(1 << p + i) | (a >> i & 1) << p + i
        return b

    [got] = run(f"bfi.{kind}", registers(kind, kind, kind, "u32", "u32"), *zip(*inputs))
    check(got, [want(*t) for t in inputs], inputs)


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
@pytest.mark.parametrize("kind", ["u32", "s32"])
def test_szext(run, kind: str, mode: str) -> None:
    inputs = [(a, n) for a in integers(32) for n in [0, 1, 2, 8, 16, 31, 32, 33, 64, 255]]

    def want(a: int, n: int) -> int:
        n = min(n, 32) if mode == "clamp" else n % 32
        kept = a & (1 << n) - 1
        return wrap(kind, signed(kept, n) if kind == "s32" and n else kept)

    [got] = run(f"szext.{mode}.{kind}", registers(kind, kind, "u32"), *zip(*inputs))
    check(got, [want(*t) for t in inputs], inputs)


def test_fns(run) -> None:
    """The offset-th set bit at or above (below, for negative offsets) the base."""
    rng = random.Random(4)
    inputs = [(rng.getrandbits(32), rng.randrange(32), rng.randint(-6, 6) & 0xFFFFFFFF) for _ in range(2000)]

    def want(mask: int, base: int, offset: int) -> int:
        offset = signed(offset, 32)
        if offset == 0:
            return base if mask >> base & 1 else 0xFFFFFFFF
        places = range(base, 32) if offset > 0 else range(base, -1, -1)
        found = [i for i in places if mask >> i & 1]
        return found[abs(offset) - 1] if len(found) >= abs(offset) else 0xFFFFFFFF

    check(run("fns.b32", "r4 r4 r4 r4", *zip(*inputs))[0], [want(*t) for t in inputs], inputs)


@pytest.mark.parametrize("a_kind", ["u32", "s32"])
@pytest.mark.parametrize("b_kind", ["u32", "s32"])
def test_dot_products(run, a_kind: str, b_kind: str) -> None:
    inputs = triples(integers(32, extra=200))

    def part(kind: str, value: int, index: int, width: int) -> int:
        value = value >> width * index & (1 << width) - 1
        return signed(value, width) if kind == "s32" else value

    want = [wrap("u32", c + sum(part(a_kind, a, i, 8) * part(b_kind, b, i, 8) for i in range(4))) for a, b, c in inputs]
    check(run(f"dp4a.{a_kind}.{b_kind}", "r4 r4 r4 r4", *zip(*inputs))[0], want, inputs)
    for name, first in (("lo", 0), ("hi", 2)):
        want = [
            wrap("u32", c + sum(part(a_kind, a, i, 16) * part(b_kind, b, first + i, 8) for i in range(2)))
            for a, b, c in inputs
        ]
        check(run(f"dp2a.{name}.{a_kind}.{b_kind}", "r4 r4 r4 r4", *zip(*inputs))[0], want, inputs)


def test_prmt(run) -> None:
    rng = random.Random(6)
    inputs = [tuple(rng.getrandbits(32) for _ in range(3)) for _ in range(2000)]

    def byte(a: int, b: int, selector: int) -> int:
        value = (b << 32 | a).to_bytes(8, "little")[selector & 7]
        return (0xFF if value & 0x80 else 0) if selector & 8 else value

    want = [sum(byte(a, b, c >> 4 * i & 15) << 8 * i for i in range(4)) for a, b, c in inputs]
    check(run("prmt.b32", "r4 r4 r4 r4", *zip(*inputs))[0], want, inputs)


@pytest.mark.parametrize(
    ("mode", "picks"),
    [  # for c = 0..3: the bytes of d, highest first (PTX ISA, table of prmt)
        ("f4e", ["3210", "4321", "5432", "6543"]),
        ("b4e", ["5670", "6701", "7012", "0123"]),
        ("rc8", ["0000", "1111", "2222", "3333"]),
        ("ecl", ["3210", "3211", "3222", "3333"]),
        ("ecr", ["0000", "1110", "2210", "3210"]),
        ("rc16", ["1010", "3232", "1010", "3232"]),
    ],
)
def test_prmt_modes(run, mode: str, picks: list[str]) -> None:
    rng = random.Random(7)
    inputs = [(rng.getrandbits(32), rng.getrandbits(32), c) for c in range(16)]
    want = [
        sum(((b << 32 | a) >> 8 * int(digit) & 0xFF) << 8 * (3 - i) for i, digit in enumerate(picks[c & 3]))
        for a, b, c in inputs
    ]
    check(run(f"prmt.b32.{mode}", "r4 r4 r4 r4", *zip(*inputs))[0], want, inputs)


@pytest.mark.parametrize("lut", [0x00, 0x96, 0xE8, 0xCA, 0x80, 0xFE, 0x1D, 0xFF])
def test_lop3(run, lut: int) -> None:
    inputs = triples(integers(32), 500)
    want = [
        sum((lut >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i for i in range(32))
        for a, b, c in inputs
    ]
    check(run("lop3.b32", f"r4 r4 r4 r4 i:{lut:x}", *zip(*inputs))[0], want, inputs)
    q = [i % 3 == 0 for i in range(len(inputs))]
    for name, f in (("or", lambda x, y: x or y), ("and", lambda x, y: x and y)):
        d, p = run(f"lop3.{name}.b32", f"pair:r4,p r4 r4 r4 i:{lut:x} p", *zip(*inputs), q, results=2)
        check(d, want, inputs)
        assert p == [f(w != 0, y) for w, y in zip(want, q)]


def test_pack_and_unpack(run) -> None:
    rng = random.Random(8)
    low, high = ([rng.getrandbits(32) for _ in range(96)] for _ in range(2))
    both = [h << 32 | v for v, h in zip(low, high)]
    assert run("mov.b64", "r8 vec:r4,r4", low, high) == [both]
    assert run("mov.b64", "vec:r4,r4 r8", both, results=2) == [low, high]
    assert run("mov.b64", "vec:_,r4 r8", both) == [high]
    quarters = [[v >> 16 * k & 0xFFFF for v in both] for k in range(4)]
    assert run("mov.b64", "vec:r2,r2,r2,r2 r8", both, results=4) == quarters
    assert run("mov.b32", "r4 vec:r2,r2", *quarters[:2]) == [low]
    assert run("mov.b128", "r16 vec:r8,r8", both, both[::-1]) == [[v << 64 | w for w, v in zip(both, both[::-1])]]


def test_carry_chain_of_one_instruction(run) -> None:
    """Without a chain CC.CF starts at 0: addc and subc add nothing.  Chains are tested end to end."""
    inputs = pairs(integers(32))
    check(run("addc.cc.u32", "r4 r4 r4", *zip(*inputs))[0], [a + b & 0xFFFFFFFF for a, b in inputs], inputs)
    check(run("sub.cc.u32", "r4 r4 r4", *zip(*inputs))[0], [a - b & 0xFFFFFFFF for a, b in inputs], inputs)


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("add.f17", "r4 r4 r4"),
        ("mul.s32", "r4 r4 r4"),
        ("shl.u32", "r4 r4 r4"),
        ("add.sat.u32", "r4 r4 r4"),
        ("popc.b16", "r4 r2"),
        ("mul.wide.s64", "r16 r8 r8"),
        ("prmt.b32.zzz", "r4 r4 r4 r4"),
        ("and.u32", "r4 r4 r4"),
        ("abs.u32", "r4 r4"),
    ],
)
def test_what_ptx_does_not_have_is_refused(run, name: str, operands: str) -> None:
    with pytest.raises(Unsupported, match="error"):
        run(name, operands, *[[1] * 32] * (len(operands.split()) - 1))
