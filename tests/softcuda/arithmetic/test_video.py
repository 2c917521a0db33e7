"""Video instructions in Python's own integers: as the PTX ISA describes them, or as an H200 differs from it."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest
from reference import Unsupported, integers, signed, triples

WORDS = ("u32", "s32")
TYPES = [(d, a, b) for d in WORDS for a in WORDS for b in WORDS]
ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "vadd": operator.add,
    "vsub": operator.sub,
    "vabsdiff": lambda x, y: abs(x - y),
    "vmin": min,
    "vmax": max,
}
COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
INPUTS = triples(integers(32), 250)
WORD = (1 << 32) - 1


def part(word: int, selector: str, kind: str) -> int:
    """`%r.b1` of a word: zero-extended or sign-extended, as its type says."""
    if not selector:
        return signed(word, 32) if kind == "s32" else word
    width = 8 if selector[0] == "b" else 16
    value = word >> width * int(selector[1]) & (1 << width) - 1
    return signed(value, width) if kind == "s32" else value


def clamp(value: int, kind: str, width: int = 32) -> int:
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if kind == "s32" else (0, (1 << width) - 1)
    return min(max(value, low), high)


def second(operation: str, value: int, c: int, kind: str, between: str) -> int:
    """The value is a word of kind `between`, or wider: compared as c's kind, where a negative one is a large .u32."""
    if operation == ".add":
        return (value + c) & WORD
    x = value if between == "wide" else part(value & WORD, "", between)
    y = part(c, "", kind)
    if kind == "u32":
        x %= 1 << 64
    return (x if (x < y) == (operation == ".min") else y) & WORD


def merged(value: int, c: int, selector: str) -> int:
    """Into .h1 goes the word's own upper half."""
    if not selector:
        return value & WORD
    width = 8 if selector[0] == "b" else 16
    at, field = width * int(selector[1]), (1 << width) - 1
    placed = value if selector == "h1" else value << at
    return c & ~(field << at) & WORD | placed & field << at


def clamp_part(value: int, kind: str, width: int) -> int:
    """Into a part .sat takes a negative value for a large one."""
    return min(value % (1 << 64), (1 << width - (kind == "s32")) - 1)


def dotted(selector: str) -> str:
    return f".{selector}" if selector else ""


def check(run, name: str, operands: str, want: Callable[[int, int, int], int]) -> None:
    sources = list(zip(*INPUTS, strict=True))[: len(operands.split()) - 1]
    [got] = run(name, operands, *sources)
    wrong = [(tuple(map(hex, i)), hex(g), hex(want(*i))) for i, g in zip(INPUTS, got, strict=True) if g != want(*i)]
    assert not wrong, (name, operands, len(wrong), wrong[:4])


@pytest.mark.parametrize("name", ARITHMETIC)
def test_one_part(run, name: str) -> None:
    f = ARITHMETIC[name]
    for index, (d, a, b) in enumerate(TYPES):
        x, y = [("", ""), ("b0", "h1"), ("b3", "b1"), ("h0", ""), ("b2", "h0")][index % 5]
        for sat in ("", ".sat"):
            form = f"{name}.{d}.{a}.{b}{sat}"

            def value(p: int, q: int, width: int = 32, x=x, y=y, a=a, b=b, d=d, sat=sat) -> int:
                result = f(part(p, x, a), part(q, y, b))
                return result if not sat else clamp(result, d) if width == 32 else clamp_part(result, d, width)

            computes_signed = name == "vsub" or "s32" in (a, b)
            between = "wide" if name == "vabsdiff" else d if sat else "s32" if computes_signed else "u32"
            refused = name == "vadd" and sat and a != b and not (x and y)
            if not refused:
                check(run, form, f"r4 r4{dotted(x)} r4{dotted(y)}", lambda p, q, _, v=value: v(p, q) & WORD)
            for op in (".add", ".min", ".max") if not refused else ():
                check(run, form + op, f"r4 r4{dotted(x)} r4{dotted(y)} r4",
                      lambda p, q, c, v=value, op=op, d=d, t=between: second(op, v(p, q), c, d, t))  # fmt: skip
            for place in ("b0", "b3", "h0", "h1"):
                width = 8 if place[0] == "b" else 16
                check(run, form, f"r4.{place} r4{dotted(x)} r4{dotted(y)} r4",
                      lambda p, q, c, v=value, w=width, at=place: merged(v(p, q, w), c, at))  # fmt: skip


@pytest.mark.parametrize("name", ["vshl", "vshr"])
@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_shifts(run, name: str, mode: str) -> None:
    for d, a in [(d, a) for d in WORDS for a in WORDS]:
        for sat in ("", ".sat") if name == "vshr" else ("",):

            def value(p: int, q: int, a=a, d=d, sat=sat) -> int:
                x, n = part(p, "b1", a), part(q, "b0", "u32")
                n = min(n, 32) if mode == "clamp" else n & 31
                result = x << n if name == "vshl" else x >> n
                return clamp(result, d) if sat else result

            form = f"{name}.{d}.{a}.u32{sat}.{mode}"
            check(run, form, "r4 r4.b1 r4.b0", lambda p, q, _, v=value: v(p, q) & WORD)
            check(run, form + ".add", "r4 r4.b1 r4.b0 r4", lambda p, q, c, v=value: (v(p, q) + c) & WORD)
            check(run, form, "r4.b2 r4.b1 r4.b0 r4", lambda p, q, c, v=value: merged(v(p, q), c, "b2"))


def test_vset(run) -> None:
    for name, f in COMPARISONS.items():
        for a, b in [(a, b) for a in WORDS for b in WORDS]:
            form = f"vset.{a}.{b}.{name}"

            def value(p: int, q: int, f=f, a=a, b=b) -> int:
                return int(f(part(p, "h1", a), part(q, "b2", b)))

            check(run, form, "r4 r4.h1 r4.b2", lambda p, q, _, v=value: v(p, q))
            for op in (".add", ".min", ".max"):
                check(run, form + op, "r4 r4.h1 r4.b2 r4",
                      lambda p, q, c, v=value, op=op, a=a: second(op, v(p, q), c, a, a))  # fmt: skip
            check(run, form, "r4.b1 r4.h1 r4.b2 r4", lambda p, q, c, v=value: merged(v(p, q), c, "b1"))


def test_vmad(run) -> None:
    """Whole words and c are signed, whatever their types."""
    for index, (d, a, b) in enumerate(TYPES):
        x, y = [("", ""), ("h1", "b0"), ("b3", "")][index % 3]
        for scale, shift in (("", 0), (".shr7", 7), (".shr15", 15)):
            for sat in ("", ".sat") if "s32" in (a, b) else ("",):
                for signs in ("   ", "-  ", " - ", "-- ", "  -", "po "):
                    plus_one = signs[0] == "p"
                    product_sign = -1 if signs.count("-", 0, 2) == 1 else 1

                    def value(p: int, q: int, c: int, x=x, y=y, a=a, b=b, sat=sat, shift=shift, signs=signs,
                              plus_one=plus_one, product_sign=product_sign) -> int:  # fmt: skip
                        addend = signed(c, 32) * (-1 if signs[2] == "-" else 1)
                        left, right = part(p, x, a if x else "s32"), part(q, y, b if y else "s32")
                        result = product_sign * left * right + addend + plus_one >> shift
                        return (clamp(result, "s32") if sat else result) & WORD

                    minus = ["-" if s == "-" else "" for s in signs]
                    name = f"vmad.{d}.{a}.{b}{'.po' if plus_one else ''}{sat}{scale}"
                    check(run, name, f"r4 {minus[0]}r4{dotted(x)} {minus[1]}r4{dotted(y)} {minus[2]}r4", value)


def packed(parts: int, f: Callable[[int, int], int], types: tuple[str, str, str], sat: bool, add: bool,
           selectors: tuple[str, str] = ("", ""), mask: str = "") -> Callable[[int, int, int], int]:  # fmt: skip
    width, (d, a, b) = 32 // parts, types
    field = (1 << width) - 1
    order = [s[1:][::-1] or "".join(str(first + i) for i in range(parts)) for s, first in zip(selectors, (0, parts))]
    chosen = [int(digit) for digit in mask[1:]] or list(range(parts))

    def word(p: int, q: int, c: int) -> int:
        both, result, total = q << 32 | p, c, c
        for i in chosen:
            x, y = (both >> width * int(order[k][i]) & field for k in (0, 1))
            value = f(signed(x, width) if a == "s32" else x, signed(y, width) if b == "s32" else y)
            value = clamp(value, d, width) if sat else value
            total += value
            result = result & ~(field << width * i) | (value & field) << width * i
        return (total if add else result) & WORD

    return word


@pytest.mark.parametrize("parts", [2, 4])
def test_all_parts(run, parts: int) -> None:
    choices = [(("", ""), "", "")] + (
        [(("h03", "h21"), "", ""), (("", ""), "h1", ""), (("h31", ""), "h0", "")]
        if parts == 2
        else [(("b7654", "b0246"), "", ""), (("", ""), "b20", ""), (("", "b1111"), "b321", "")]
    )
    functions = ARITHMETIC | {"vavrg": lambda x, y: (x + y + (x + y >= 0)) >> 1}
    for name, f in functions.items():
        for types in TYPES:
            for (x, y), mask, _ in choices:
                for tail in ("", ".sat", ".add"):
                    form = f"{name}{parts}.{'.'.join(types)}{tail}"
                    want = packed(parts, f, types, tail == ".sat", tail == ".add", (x, y), mask)
                    check(run, form, f"r4{dotted(mask)} r4{dotted(x)} r4{dotted(y)} r4", want)
    for name, f in COMPARISONS.items():
        for a, b in [(a, b) for a in WORDS for b in WORDS]:
            for tail in ("", ".add"):
                want = packed(parts, lambda x, y, f=f: int(f(x, y)), ("u32", a, b), False, tail == ".add")
                check(run, f"vset{parts}.{a}.{b}.{name}{tail}", "r4 r4 r4 r4", want)


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("vadd.u32.u32.u16", "r4 r4 r4"),
        ("vadd.u32.u32.u32.add", "r4.b0 r4 r4 r4"),
        ("vadd.u32.u32.u32", "r4 r4.b4 r4"),
        ("vshl.u32.u32.u32", "r4 r4 r4"),
        ("vadd4.u32.u32.u32.sat.add", "r4 r4 r4 r4"),
        ("vadd4.u32.u32.u32", "r4.b12 r4 r4 r4"),
        ("vadd2.u32.u32.u32", "r4 r4.b3210 r4 r4"),
        ("vmad.s32.u32.u32.po", "r4 -r4 r4 r4"),
        ("vadd.u32.s32.u32.sat", "r4 r4.b0 r4"),
        ("vshl.u32.u32.u32.sat.clamp", "r4 r4 r4"),
        ("vshr.u32.u32.u32.clamp", "r4.h1 r4 r4 r4"),
        ("vmad.u32.u32.u32.sat", "r4 r4 r4 r4"),
    ],
)
def test_what_ptx_does_not_have_or_an_h200_does_by_no_rule_is_refused(run, name: str, operands: str) -> None:
    with pytest.raises(Unsupported, match="error"):
        run(name, operands, *[[1] * 32] * (len(operands.split()) - 1))
