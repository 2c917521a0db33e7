"""The table of PTX instruction forms: what to run, on which operands, and how close two devices must agree.

A form's body names its registers: %a %b %c %e ... are the operands, %d %d1 %d2 %d3 the results, which hold a poison
before.  %p %q (predicates), %x %y (32 bits), %w (64 bits), %h (16 bits) and %lane are there to use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

NAMES = ("a", "b", "c", "e", "f", "g", "i", "j", "k", "l", "m", "n", "o", "r", "s", "t", "u", "v")
# Bits of the register of an operand or result kind; predicates are kept as words.
BITS = {
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
    "f16x2": 32,
    "bf16x2": 32,
    "u8": 32,
    "s8": 32,
    "u16": 16,
    "s16": 16,
    "b16": 16,
}
POISON = 0xCDCDCDCDCDCDCDCD
LANES = {0: 128, 1: 1024, 2: 1280, 3: 1536}


def bits_of(kind: str) -> int:
    if kind in BITS:
        return BITS[kind]
    return 64 if kind in ("u64", "s64", "b64") or kind.endswith(":f64") else 32


@dataclass(frozen=True)
class Form:
    """One instruction form, or a short sequence of them.

    check: "exact"; or a bound on |got - want| for the numbers in the results: "ulp:N", "abs:X", "rel:X", "mixed:X"
    (absolute below one, relative above).
    """

    name: str
    body: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    check: str = "exact"
    lanes: int = 0

    @property
    def count(self) -> int:
        return self.lanes or LANES[min(3, len(self.operands))]

    @property
    def result_bytes(self) -> int:
        return self.count * sum(bits_of(kind) // 8 for kind in self.results)

    @property
    def digest(self) -> str:
        """Changes with anything that changes the results."""
        return hashlib.sha256(repr((self.body, self.results, self.operands, self.count)).encode()).hexdigest()[:8]

    def ptx(self, entry: str) -> str:
        """A kernel entry(out, in): thread i takes its operands from arrays one behind the other, results likewise."""
        declared, load, store = [], [], []
        at = 0
        for name, kind in zip(NAMES, self.operands, strict=False):
            bits = bits_of(kind)
            register = f"%{name}_word" if kind == "pred" else f"%{name}"
            declared.append(f".reg .b{bits} {register};")
            load += [
                f"mad.wide.u32 %address, %thread, {bits // 8}, %in;",
                f"ld.global.b{bits} {register}, [%address+{at}];",
            ]
            if kind == "pred":
                declared.append(f".reg .pred %{name};")
                load.append(f"setp.ne.u32 %{name}, {register}, 0;")
            at += self.count * bits // 8
        at = 0
        for index, kind in enumerate(self.results):
            bits, name = bits_of(kind), f"%d{index or ''}"
            declared.append(f".reg .{'pred' if kind == 'pred' else f'b{bits}'} {name};")
            load.append(
                f"setp.ne.u32 {name}, 0, 0;"
                if kind == "pred"
                else f"mov.b{bits} {name}, {POISON & (1 << bits) - 1:#x};"
            )
            if kind == "pred":
                store.append(f"selp.u32 %x, 1, 0, {name};")
                name = "%x"
            store += [
                f"mad.wide.u32 %address, %thread, {bits // 8}, %out;",
                f"st.global.b{bits} [%address+{at}], {name};",
            ]
            at += self.count * bits // 8
        lines = [
            ".reg .b64 %in, %out, %address, %w; .reg .b32 %thread, %lane, %x, %y; .reg .b16 %h; .reg .pred %p, %q;",
            *declared,
            f"ld.param.u64 %out, [{entry}_0]; ld.param.u64 %in, [{entry}_1];",
            "mov.u32 %x, %ctaid.x; mov.u32 %y, %ntid.x; mov.u32 %thread, %tid.x; mad.lo.u32 %thread, %x, %y, %thread;",
            "and.b32 %lane, %thread, 31;",
            *load,
            self.body,
            *store,
            "ret;",
        ]
        inside = "\n    ".join(lines)
        return f".visible .entry {entry}(.param .u64 {entry}_0, .param .u64 {entry}_1)\n{{\n    {inside}\n}}\n"


def plain(name: str, result: str, *kinds: str, check: str = "exact", lanes: int = 0) -> Form:
    """instruction d, a, b, ...; the instruction is the first word of the name."""
    sources = ", ".join(f"%{n}" for n, _ in zip(NAMES, kinds, strict=False))
    return Form(name, f"{name.split()[0]} %d, {sources};", (result,), kinds, check, lanes)


INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
ROUNDINGS = ("rn", "rz", "rm", "rp")


def integers() -> Iterator[Form]:
    for t in INTEGERS:
        for op in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"):
            yield plain(f"{op}.{t}", t, t, t)
        for op in ("mad.lo", "mad.hi", "sad"):
            yield plain(f"{op}.{t}", t, t, t, t)
        if t[0] == "s":
            yield plain(f"abs.{t}", t, t)
            yield plain(f"neg.{t}", t, t)
        yield plain(f"shr.{t}", t, t, "shift")
    for t, wide in (("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")):
        yield plain(f"mul.wide.{t}", wide, t, t)
        yield plain(f"mad.wide.{t}", wide, t, t, wide)
    yield plain("add.sat.s32", "s32", "s32", "s32")
    yield plain("sub.sat.s32", "s32", "s32", "s32")
    yield plain("mad.hi.sat.s32", "s32", "s32", "s32", "s32")
    for t in ("u32", "s32"):
        for part in ("lo", "hi"):
            yield plain(f"mul24.{part}.{t}", t, t, t)
            yield plain(f"mad24.{part}.{t}", t, t, t, t)
    yield plain("mad24.hi.sat.s32", "s32", "s32", "s32", "s32")
    for t in ("u16x2", "s16x2"):
        for op in ("add", "min", "max"):
            yield plain(f"{op}.{t}", "b32", "b32", "b32")
    for op in ("min", "max"):
        yield plain(f"{op}.relu.s16x2", "b32", "b32", "b32")
        yield plain(f"{op}.relu.s32", "b32", "b32", "b32")
    for a in ("u32", "s32"):
        for b in ("u32", "s32"):
            yield plain(f"dp4a.{a}.{b}", "b32", "b32", "b32", "b32")
            for part in ("lo", "hi"):
                yield plain(f"dp2a.{part}.{a}.{b}", "b32", "b32", "b32", "b32")


def carries() -> Iterator[Form]:
    """The carry is made visible by an addc of zeros behind each."""
    for t in ("u32", "s32", "u64", "s64"):
        for op in ("add", "sub"):
            show = "addc" if op == "add" else "subc"
            yield Form(f"{op}.cc.{t}", f"{op}.cc.{t} %d, %a, %b; {show}.{t} %d1, 0, 0;", (t, t), (t, t))
            yield Form(
                f"{op}c.cc.{t}",
                f"{op}.cc.{t} %d2, %a, %b; {op}c.cc.{t} %d, %c, %a; {show}.{t} %d1, 0, 0;",
                (t, t, t),
                (t, t, t),
            )
            yield Form(f"{op}c.{t}", f"{op}.cc.{t} %d1, %a, %b; {op}c.{t} %d, %c, %b;", (t, t), (t, t, t))
        yield Form(f"add.cc.{t} then subc", f"add.cc.{t} %d, %a, %b; subc.{t} %d1, %b, %a;", (t, t), (t, t))
        yield Form(f"sub.cc.{t} then addc", f"sub.cc.{t} %d, %a, %b; addc.{t} %d1, %b, %a;", (t, t), (t, t))
        for part in ("lo", "hi"):
            yield Form(
                f"mad.{part}.cc.{t}", f"mad.{part}.cc.{t} %d, %a, %b, %c; addc.{t} %d1, 0, 0;", (t, t), (t, t, t)
            )
            yield Form(
                f"madc.{part}.{t}", f"add.cc.{t} %d1, %a, %c; madc.{part}.{t} %d, %a, %b, %c;", (t, t), (t, t, t)
            )
            yield Form(
                f"madc.{part}.cc.{t}",
                f"add.cc.{t} %d2, %a, %c; madc.{part}.cc.{t} %d, %a, %b, %c; addc.{t} %d1, 0, 0;",
                (t, t, t),
                (t, t, t),
            )


def bits() -> Iterator[Form]:
    for t in ("b16", "b32", "b64"):
        for op in ("and", "or", "xor"):
            yield plain(f"{op}.{t}", t, t, t)
        yield plain(f"not.{t}", t, t)
        yield plain(f"cnot.{t}", t, t)
        yield plain(f"shl.{t}", t, t, "shift")
        yield plain(f"shr.{t}", t, t, "shift")
    for op in ("and", "or", "xor"):
        yield plain(f"{op}.pred", "pred", "pred", "pred", lanes=128)
    yield plain("not.pred", "pred", "pred", lanes=128)
    for t in ("b32", "b64"):
        yield plain(f"popc.{t}", "u32", t)
        yield plain(f"clz.{t}", "u32", t)
        yield plain(f"brev.{t}", t, t)
        yield Form(f"bfi.{t}", f"bfi.{t} %d, %a, %b, %c, %e;", (t,), (t, t, "shift", "shift"))
    for t in ("u32", "s32", "u64", "s64"):
        yield plain(f"bfind.{t}", "u32", t)
        yield plain(f"bfind.shiftamt.{t}", "u32", t)
        yield plain(f"bfe.{t}", t, t, "shift", "shift")
    for mode in ("clamp", "wrap"):
        yield plain(f"bmsk.{mode}.b32", "b32", "shift", "shift")
        yield plain(f"szext.{mode}.u32", "u32", "u32", "shift")
        yield plain(f"szext.{mode}.s32", "s32", "s32", "shift")
        for side in "lr":
            yield plain(f"shf.{side}.{mode}.b32", "b32", "b32", "b32", "shift")
    yield plain("fns.b32", "b32", "b32", "lane", "s32")
    yield Form(
        "fns.b32 small",
        "and.b32 %x, %c, 15; sub.s32 %x, %x, 8; fns.b32 %d, %a, %b, %x;",
        ("b32",),
        ("b32", "lane", "b32"),
    )
    yield plain("prmt.b32", "b32", "b32", "b32", "b32")
    for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        body = f"prmt.b32.{mode} %d, %a, %b, %c;"
        yield Form(f"prmt.b32.{mode}", body, ("b32",), ("b32", "b32", "shift"), lanes=384)
    for table in (0x00, 0x01, 0x17, 0x80, 0x96, 0xCA, 0xE8, 0xFE, 0xD8, 0x2B, 0x78, 0xFF):
        yield Form(
            f"lop3.b32 {table:#04x}",
            f"lop3.b32 %d, %a, %b, %c, {table:#x};",
            ("b32",),
            ("b32", "b32", "b32"),
            lanes=256,
        )
    for op in ("and", "or"):
        body = f"setp.lt.s32 %q, %a, 0; lop3.{op}.b32 %d|%d1, %a, %b, %c, 0xc0, %q;"
        yield Form(f"lop3.{op}.b32", body, ("b32", "pred"), ("b32", "b32", "b32"))
    for t in ("b16", "b32", "b64", "f32", "f64"):
        yield plain(f"selp.{t}", t, t, t, "pred", lanes=256)
    for t in ("b16", "u32", "b64", "f32", "f64"):
        for by in ("s32", "f32", "ftz"):
            name = f"slct.ftz.{t}.f32" if by == "ftz" else f"slct.{t}.{by}"
            yield plain(name, t, t, t, "s32" if by == "s32" else "f32", lanes=384)


def video() -> Iterator[Form]:
    for n in (2, 4):
        for op in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"):
            for types in ("u32.u32.u32", "s32.s32.s32", "s32.u32.u32", "u32.s32.u32", "s32.u32.s32"):
                for tail in ("", ".sat", ".add"):
                    if (op == "vavrg" and tail == ".sat") or (
                        tail == ".add" and types not in ("u32.u32.u32", "s32.s32.s32")
                    ):
                        continue
                    name = f"{op}{n}.{types}{tail}"
                    yield Form(name, f"{name} %d, %a, %b, %c;", ("b32",), ("b32", "b32", "b32"), lanes=384)
        for compare in ("eq", "ne", "lt", "le", "gt", "ge"):
            for types in ("u32.u32", "s32.s32", "s32.u32"):
                for tail in ("", ".add"):
                    name = f"vset{n}.{types}.{compare}{tail}"
                    yield Form(name, f"{name} %d, %a, %b, %c;", ("b32",), ("b32", "b32", "b32"), lanes=256)
    for name, a, b in (("vadd2.u32.u32.u32", ".h03", ".h21"), ("vadd4.u32.u32.u32", ".b7654", ".b0246")):
        yield Form(f"{name} selected", f"{name} %d, %a{a}, %b{b}, %c;", ("b32",), ("b32", "b32", "b32"), lanes=256)
    # The scalar ones.
    for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        for tail in ("", ".sat"):
            yield plain(f"{op}.s32.s32.s32{tail}", "s32", "s32", "s32")
    yield Form("vadd.s32.u32.s32 of bytes", "vadd.s32.u32.s32 %d, %a.b1, %b.h1;", ("s32",), ("b32", "b32"))
    yield plain("vshl.u32.u32.u32.clamp", "u32", "u32", "shift")
    yield plain("vshr.u32.u32.u32.wrap", "u32", "u32", "shift")
    yield Form("vmad.s32.s32.s32 of halves", "vmad.s32.s32.s32 %d, %a.h0, %b.h1, %c;", ("s32",), ("b32", "b32", "s32"))
    yield plain("vset.s32.s32.lt", "u32", "s32", "s32")
    for mask in ("b0", "b20", "b321"):
        yield Form(
            f"vadd4 mask {mask}",
            f"vadd4.u32.u32.u32 %d.{mask}, %a, %b, %c;",
            ("b32",),
            ("b32", "b32", "b32"),
            lanes=256,
        )


def scalar_video() -> Iterator[Form]:
    """One part each of a, b and the result, every second operation, every mode."""
    words, parts = ("u32", "s32"), (("", ""), (".b1", ".h0"), (".h1", ".b3"), (".b0", ""), (".b2", ".b2"))
    three = ("b32", "b32", "b32")
    turn = 0
    for d, a, b in [(d, a, b) for d in words for a in words for b in words]:
        for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
            for sat in ("", ".sat"):
                x, y = parts[turn % len(parts)]
                place = (".b0", ".b2", ".h0", ".h1")[turn % 4]
                second = (".add", ".min", ".max")[turn % 3]
                turn += 1
                name = f"{op}.{d}.{a}.{b}{sat}"
                sources = f"%a{x}, %b{y}"
                yield Form(f"{name} {x} {y}", f"{name} %d, {sources};", ("b32",), ("b32", "b32"), lanes=384)
                yield Form(f"{name}{second}", f"{name}{second} %d, {sources}, %c;", ("b32",), three, lanes=384)
                yield Form(f"{name} into {place}", f"{name} %d{place}, {sources}, %c;", ("b32",), three, lanes=384)
        scale, sat = ("", ".shr7", ".shr15")[turn % 3], ("", ".sat")[turn % 2]
        for signs in ("   ", "-  ", " - ", "-- ", "  -", "po "):
            po, minus = (".po" if signs[0] == "p" else ""), ["-" if sign == "-" else "" for sign in signs]
            for x, y in parts[:3]:
                name = f"vmad.{d}.{a}.{b}{po}{sat}{scale}"
                body = f"{name} %d, {minus[0]}%a{x}, {minus[1]}%b{y}, {minus[2]}%c;"
                yield Form(f"{name} {signs} {x} {y}", body, ("b32",), three, lanes=384)
        turn += 1
        if b == "s32":
            continue
        for op in ("vshl", "vshr"):
            for mode in ("clamp", "wrap"):
                for sat in ("", ".sat"):
                    name = f"{op}.{d}.{a}.u32{sat}.{mode}"
                    yield Form(f"{name} by byte", f"{name} %d, %a, %b.b0;", ("b32",), ("b32", "b32"), lanes=384)
                    yield Form(f"{name}.add", f"{name}.add %d, %a.h1, %b.b3, %c;", ("b32",), three, lanes=384)
                    yield Form(f"{name} into b1", f"{name} %d.b1, %a.b0, %b, %c;", ("b32",), ("b32", "shift", "b32"))
    for compare in ("eq", "ne", "lt", "le", "gt", "ge"):
        for a, b in [(a, b) for a in words for b in words]:
            name = f"vset.{a}.{b}.{compare}"
            yield Form(f"{name} whole", f"{name} %d, %a, %b;", ("b32",), ("b32", "b32"), lanes=384)
            yield Form(f"{name}.max", f"{name}.max %d, %a.b1, %b.h1, %c;", ("b32",), three, lanes=384)
            yield Form(f"{name} into b3", f"{name} %d.b3, %a.h0, %b.b0, %c;", ("b32",), three, lanes=384)


def flushes() -> Iterator[Form]:
    """.ftz at the smallest normal number, which a result may be after rounding only."""
    unit = "and.b32 %x, %a, 0x007fffff; or.b32 %x, %x, 0x3f800000; rcp.rn.f32 %y, %x; "  # x * y is about one
    small = unit + "mul.rn.f32 %x, %x, 0f20000000; mul.rn.f32 %y, %y, 0f20000000; "  # times 2^-126
    for rounding in ROUNDINGS:
        for op in ("mul", "fma"):
            tail = ", 0f00000000" if op == "fma" else ""
            name = f"{op}.{rounding}.ftz.f32"
            yield Form(f"{name} at the edge", f"{small}{name} %d, %x, %y{tail};", ("f32",), ("b32",), lanes=1024)
        # A sum: 2^-125 less about half of it, by a product that is not exact.
        body = f"{small} neg.f32 %x, %x; fma.{rounding}.ftz.f32 %d, %x, %y, 0f01000000;"
        yield Form(f"fma.{rounding}.ftz.f32 difference at the edge", body, ("f32",), ("b32",), lanes=1024)
        for op in ("rcp", "div"):
            one = "0f3F800000, " if op == "div" else ""
            body = f"add.u32 %x, %lane, 0x7e7ffff0; {op}.{rounding}.ftz.f32 %d, {one}%x;"
            yield Form(f"{op}.{rounding}.ftz.f32 at the edge", body, ("f32",), (), lanes=64)
        for op in ("add", "sub"):
            body = f"and.b32 %x, %a, 0x80ffffff; and.b32 %y, %b, 0x80ffffff; {op}.{rounding}.ftz.f32 %d, %x, %y;"
            yield Form(f"{op}.{rounding}.ftz.f32 of small numbers", body, ("f32",), ("b32", "b32"), lanes=512)


def floats() -> Iterator[Form]:
    for t in ("f32", "f64"):
        for ftz in ("", ".ftz") if t == "f32" else ("",):
            for sat in ("", ".sat") if t == "f32" else ("",):
                for rounding in ("", *(f".{r}" for r in ROUNDINGS)):
                    for op in ("add", "sub", "mul"):
                        yield plain(f"{op}{rounding}{ftz}{sat}.{t}", t, t, t)
                    if rounding:
                        yield plain(f"fma{rounding}{ftz}{sat}.{t}", t, t, t, t)
            for rounding in ROUNDINGS:
                yield plain(f"div.{rounding}{ftz}.{t}", t, t, t)
                yield plain(f"rcp.{rounding}{ftz}.{t}", t, t)
                yield plain(f"sqrt.{rounding}{ftz}.{t}", t, t)
                yield plain(f"mad.{rounding}{ftz}.{t}", t, t, t, t)
            for op in ("min", "max"):
                yield plain(f"{op}{ftz}.{t}", t, t, t)
                if t == "f32":
                    yield plain(f"{op}{ftz}.NaN.{t}", t, t, t)
                    yield plain(f"{op}{ftz}.xorsign.abs.{t}", t, t, t)
                    yield plain(f"{op}{ftz}.NaN.xorsign.abs.{t}", t, t, t)
            yield plain(f"abs{ftz}.{t}", t, t)
            yield plain(f"neg{ftz}.{t}", t, t)
        yield plain(f"copysign.{t}", t, t, t)
        for test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield plain(f"testp.{test}.{t}", "pred", t, lanes=256)
    # Approximations, with the bounds that the PTX ISA states for them.
    for ftz in ("", ".ftz"):
        yield plain(f"div.approx{ftz}.f32", "f32", "f32", "f32", check="ulp:2")
        yield plain(f"div.full{ftz}.f32", "f32", "f32", "f32", check="ulp:2")
        yield plain(f"rcp.approx{ftz}.f32", "f32", "f32", check="ulp:1")
        yield plain(f"sqrt.approx{ftz}.f32", "f32", "f32", check="rel:2^-23")
        yield plain(f"rsqrt.approx{ftz}.f32", "f32", "f32", check="rel:2^-22.9")
        yield plain(f"ex2.approx{ftz}.f32", "f32", "exponent", check="ulp:2")
        yield plain(f"ex2.approx{ftz}.f32 anywhere", "f32", "f32", check="ulp:2")
        yield plain(f"lg2.approx{ftz}.f32", "f32", "f32", check="mixed:2^-22")
        for op in ("sin", "cos"):
            yield plain(f"{op}.approx{ftz}.f32", "f32", "angle", check="abs:2^-20.5")
            yield plain(f"{op}.approx{ftz}.f32 far", "f32", "bigangle", check="abs:2^-14.7")
    yield plain("tanh.approx.f32", "f32", "f32", check="rel:2^-11")
    yield plain("rcp.approx.ftz.f64", "f64", "f64", check="rel:2^-19")
    yield plain("rsqrt.approx.f64", "f64", "f64", check="rel:2^-19")
    yield plain("rsqrt.approx.ftz.f64", "f64", "f64", check="rel:2^-19")


def halves() -> Iterator[Form]:
    for t in ("f16", "f16x2", "bf16", "bf16x2"):
        flags = ["", ".ftz", ".sat", ".ftz.sat"] if t[0] == "f" else [""]
        for op in ("add", "sub", "mul"):
            for rn in ("", ".rn"):
                for flag in flags:
                    yield plain(f"{op}{rn}{flag}.{t}", t, t, t)
        for flag in [*flags, ".relu", *([".ftz.relu"] if t[0] == "f" else [])]:
            yield plain(f"fma.rn{flag}.{t}", t, t, t, t)
        for op in ("min", "max"):
            for ftz in ("", ".ftz") if t[0] == "f" else ("",):
                for flag in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
                    yield plain(f"{op}{ftz}{flag}.{t}", t, t, t)
        for flag in ("", ".relu"):
            yield plain(f"fma.rn.oob{flag}.{t}", t, t, t, t)
        for op in ("abs", "neg"):
            for ftz in ("", ".ftz") if t[0] == "f" else ("",):
                yield plain(f"{op}{ftz}.{t}", t, t)
        bound = "2^-9.9" if t[0] == "f" else "2^-7"
        yield plain(f"ex2.approx{'' if t[0] == 'f' else '.ftz'}.{t}", t, t, check=f"rel:{bound}")
        yield plain(f"tanh.approx.{t}", t, t, check=f"abs:{'2^-10.987' if t[0] == 'f' else '2^-8'}")


FLOAT_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


def comparisons() -> Iterator[Form]:
    signed, unsigned = ("eq", "ne", "lt", "le", "gt", "ge"), ("lo", "ls", "hi", "hs")
    for t in (*INTEGERS, "b16", "b32", "b64"):
        for c in ("eq", "ne") if t[0] == "b" else signed + unsigned if t[0] == "u" else signed:
            yield Form(f"setp.{c}.{t}", f"setp.{c}.{t} %d, %a, %b;", ("pred",), (t, t), lanes=384)
    for t in ("f32", "ftz.f32", "f64", "f16", "ftz.f16", "bf16"):
        kind = t.split(".")[-1]
        for c in FLOAT_COMPARISONS:
            yield Form(f"setp.{c}.{t}", f"setp.{c}.{t} %d, %a, %b;", ("pred",), (kind, kind))
    for t in ("f16x2", "ftz.f16x2", "bf16x2"):
        kind = t.split(".")[-1]
        for c in FLOAT_COMPARISONS:
            yield Form(f"setp.{c}.{t}", f"setp.{c}.{t} %d|%d1, %a, %b;", ("pred", "pred"), (kind, kind))
    for op in ("and", "or", "xor"):
        for t in ("s32", "f32", "f64"):
            yield Form(f"setp.lt.{op}.{t}", f"setp.lt.{op}.{t} %d|%d1, %a, %b, %c;", ("pred", "pred"), (t, t, "pred"))
        for t in ("f16", "bf16"):
            yield Form(f"setp.lt.{op}.{t}", f"setp.lt.{op}.{t} %d, %a, %b, %c;", ("pred",), (t, t, "pred"))
        for t in ("f16x2", "bf16x2"):
            yield Form(f"setp.lt.{op}.{t}", f"setp.lt.{op}.{t} %d|%d1, %a, %b, %c;", ("pred", "pred"), (t, t, "pred"))
        for t in ("s32", "f32"):
            yield Form(f"set.ge.{op}.u32.{t}", f"set.ge.{op}.u32.{t} %d, %a, %b, %c;", ("u32",), (t, t, "pred"))
    for t in ("u16", "s32", "u64", "f32", "f64", "f16", "bf16"):
        for to in ("u32", "s32", "f32"):
            for c in ("eq", "lt", "ne") + (("geu", "nan") if "f" in t else ()):
                if t in ("f16", "bf16") and to == "f32":
                    continue
                yield Form(f"set.{c}.{to}.{t}", f"set.{c}.{to}.{t} %d, %a, %b;", (to,), (t, t), lanes=384)
    for t in ("f16", "bf16"):
        for to in (t, "u16", "s16"):
            for c in ("lt", "equ"):
                yield Form(f"set.{c}.{to}.{t}", f"set.{c}.{to}.{t} %d, %a, %b;", ("b16",), (t, t), lanes=384)
    for t in ("f16x2", "bf16x2"):
        for to in (t, "u32", "s32"):
            for c in ("lt", "equ", "ne", "nan"):
                yield Form(f"set.{c}.{to}.{t}", f"set.{c}.{to}.{t} %d, %a, %b;", ("b32",), (t, t), lanes=384)


def conversions() -> Iterator[Form]:
    whole = ("u8", "s8", *INTEGERS)
    real = ("f16", "bf16", "f32", "f64")

    def one(name: str, to: str, source: str) -> Form:
        return Form(name, f"{name} %d, %a;", (to,), ("b32" if source in ("u8", "s8") else source,))

    for to in whole:
        for source in whole:
            # ptxas takes .sat only where the value may not fit.
            fits = (to[0] == source[0] and int(to[1:]) >= int(source[1:])) or (
                to[0] == "s" and int(to[1:]) > int(source[1:])
            )
            for sat in ("",) if fits else ("", ".sat"):
                yield one(f"cvt{sat}.{to}.{source}", to, source)
        for source in real:
            if source == "bf16" and to in ("u8", "s8"):
                continue
            for rounding in ("rni", "rzi", "rmi", "rpi"):
                for ftz in ("", ".ftz") if source == "f32" else ("",):
                    for sat in ("", ".sat") if rounding in ("rni", "rzi") and source != "bf16" else ("",):
                        yield one(f"cvt.{rounding}{ftz}{sat}.{to}.{source}", to, source)
        for target in real:
            if target == "bf16" and to in ("u8", "s8"):
                continue
            for rounding in ROUNDINGS:
                yield one(f"cvt.{rounding}.{target}.{to}", target, to)
            if target in ("f16", "f32"):
                yield one(f"cvt.rn.sat.{target}.{to}", target, to)
    for to, source in ((t, s) for t in real for s in real):
        narrow = (real.index(to) < real.index(source) and not (to == "f16" and source == "bf16")) or (to, source) == (
            "f16",
            "bf16",
        )
        narrow = narrow or (to, source) == ("bf16", "f16")
        for rounding in ROUNDINGS if narrow else ("",):
            dot = f".{rounding}" if rounding else ""
            for sat in ("", ".sat") if "bf16" not in (to, source) else ("",):
                for ftz in ("", ".ftz") if "f32" in (to, source) else ("",):
                    yield one(f"cvt{dot}{ftz}{sat}.{to}.{source}", to, source)
        if to == source:
            for rounding in ("rni", "rzi", "rmi", "rpi"):
                for sat in ("", ".sat") if to != "bf16" else ("",):
                    for ftz in ("", ".ftz") if to == "f32" else ("",):
                        yield one(f"cvt.{rounding}{ftz}{sat}.{to}.{to}", to, to)
    for to in ("f16", "bf16"):
        for rounding in ("rn", "rz"):
            for relu in ("", ".relu"):
                yield one(f"cvt.{rounding}{relu}.{to}.f32", to, "f32")
                yield plain(f"cvt.{rounding}{relu}.{to}x2.f32", f"{to}x2", "f32", "f32")
                yield one(f"cvt.{rounding}{relu}.satfinite.{to}.f32", to, "f32")
    for rounding in ("rna", "rn", "rz", "rn.relu", "rz.relu"):
        yield one(f"cvt.{rounding}.tf32.f32", "b32", "f32")
    yield one("cvt.rna.satfinite.tf32.f32", "b32", "f32")
    for to in ("f16x2", "bf16x2"):
        for flag in ("rn", "rz", "rn.relu", "rz.relu"):
            yield plain(f"cvt.{flag}.satfinite.{to}.f32", to, "f32", "f32")
    for to in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            yield plain(f"cvt.rn.satfinite{relu}.{to}.f32", "b16", "f32", "f32")
            yield plain(f"cvt.rn.satfinite{relu}.{to}.f16x2", "b16", "f16x2")
            yield plain(f"cvt.rn{relu}.f16x2.{to}", "f16x2", "b16")
    for to in ("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"):
        if to[1:] == "16":
            yield plain(f"cvt.pack.sat.{to}.s32", "b32", "b32", "b32")
        else:
            yield plain(f"cvt.pack.sat.{to}.s32.b32", "b32", "b32", "b32", "b32")


def warps() -> Iterator[Form]:
    for mode in ("up", "down", "bfly", "idx"):
        for distance in (0, 1, 3, 16, 31, 33):
            for c in (0x1F, 0, 0x1C1F, 0x181F, 0x1000, 0x1E00, 0x100F, 0x1F1F):
                body = f"shfl.sync.{mode}.b32 %d|%d1, %a, {distance}, {c:#x}, -1;"
                yield Form(f"shfl.{mode} by {distance}, c {c:#x}", body, ("b32", "pred"), ("b32",), lanes=64)
        yield Form(
            f"shfl.{mode} by lane",
            f"shfl.sync.{mode}.b32 %d|%d1, %a, %b, %c, -1;",
            ("b32", "pred"),
            ("b32", "lane", "segment"),
            lanes=256,
        )
        # Two halves of a warp, each with its mask.
        body = (
            "setp.lt.u32 %q, %lane, 16; @%q bra low; "
            f"shfl.sync.{mode}.b32 %d|%d1, %a, 3, 0x101f, 0xffff0000; bra both; "
            f"low: shfl.sync.{mode}.b32 %d|%d1, %a, 1, 0x100f, 0x0000ffff; both:"
        )
        yield Form(f"shfl.{mode} in halves", body, ("b32", "pred"), ("b32",), lanes=64)
    for mode in ("all", "any", "uni"):
        yield Form(
            f"vote.{mode}", f"setp.ne.u32 %q, %a, 0; vote.sync.{mode}.pred %d, %q, -1;", ("pred",), ("few",), lanes=128
        )
        for mask in (0x0000FFFF, 0x80000001):
            members = f"shr.u32 %x, {mask:#x}, %lane; and.b32 %x, %x, 1; setp.eq.u32 %p, %x, 0; "
            members += "setp.ne.u32 %q, %a, 0; @%p bra out;"
            body = f"{members} vote.sync.{mode}.pred %d, %q, {mask:#x}; out:"
            yield Form(f"vote.{mode} of {mask:#x}", body, ("pred",), ("few",), lanes=256)
        constant = (
            f"shr.u32 %x, %thread, 5; and.b32 %x, %x, 1; setp.eq.u32 %q, %x, 0; vote.sync.{mode}.pred %d, %q, -1;"
        )
        yield Form(f"vote.{mode} alike", constant, ("pred",), (), lanes=128)
    for mask in (0xFFFFFFFF, 0x0000FFFF, 0x80000001, 0x00000010):
        members = f"shr.u32 %x, {mask:#x}, %lane; and.b32 %x, %x, 1; setp.eq.u32 %p, %x, 0; @%p bra out;"
        ballot = f"{members} setp.ne.u32 %q, %a, 0; vote.sync.ballot.b32 %d, %q, {mask:#x}; out:"
        yield Form(f"vote.ballot of {mask:#x}", ballot, ("b32",), ("few",), lanes=128)
        for t in ("b32", "b64"):
            value = "%a" if t == "b32" else "%w"
            wide = "" if t == "b32" else "cvt.u64.u32 %w, %a; shl.b64 %w, %w, 31;"
            yield Form(
                f"match.any.{t} of {mask:#x}",
                f"{members} {wide} match.any.sync.{t} %d, {value}, {mask:#x}; out:",
                ("b32",),
                ("few",),
                lanes=128,
            )
            body = f"{members} {wide} match.all.sync.{t} %d|%d1, {value}, {mask:#x}; out:"
            yield Form(f"match.all.{t} of {mask:#x}", body, ("b32", "pred"), ("few",), lanes=256)
            yield Form(f"match.all.{t} of {mask:#x} alike", body, ("b32", "pred"), ("one",), lanes=64)
        for op, t in (
            ("add", "u32"),
            ("add", "s32"),
            ("min", "u32"),
            ("min", "s32"),
            ("max", "u32"),
            ("max", "s32"),
            ("and", "b32"),
            ("or", "b32"),
            ("xor", "b32"),
        ):
            yield Form(
                f"redux.{op}.{t} of {mask:#x}",
                f"{members} redux.sync.{op}.{t} %d, %a, {mask:#x}; out:",
                ("b32",),
                ("b32",),
                lanes=128,
            )
        yield Form(
            f"elect of {mask:#x}", f"{members} elect.sync %d|%d1, {mask:#x}; out:", ("b32", "pred"), (), lanes=64
        )
    yield Form("activemask", "activemask.b32 %d;", ("b32",), (), lanes=64)
    # A diverged half does not meet the other before both have a mask.
    yield Form(
        "activemask diverged",
        "setp.lt.u32 %q, %lane, 5; @%q bra few; activemask.b32 %d; bra out; few: activemask.b32 %d; out:",
        ("b32",),
        (),
        lanes=64,
    )
    for t in ("b32", "u32"):
        for name in ("laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge"):
            if t == "u32":
                yield Form(f"%{name}", f"mov.u32 %d, %{name};", ("b32",), (), lanes=64)


def atomics() -> Iterator[Form]:
    """Each lane has a cell of its own, the second result; the first is what the atomic returned."""
    table = [(op, t) for op in ("add", "min", "max") for t in ("u32", "s32", "u64", "s64")]
    table = [pair for pair in table if pair != ("add", "s64")]
    table += [(op, "u32") for op in ("inc", "dec")] + [
        (op, t) for op in ("and", "or", "xor", "exch") for t in ("b32", "b64")
    ]
    table += [("add", t) for t in ("f32", "f64", "noftz.f16", "noftz.bf16", "noftz.f16x2", "noftz.bf16x2")]
    for space in ("global", "shared"):
        for op, t in table:
            kind = t.split(".")[-1]
            yield atomic(space, f"{op}.{t}", kind, f"atom.{space}.{op}.{t} %d, [%w], %b;", (kind, kind), returns=True)
            if op != "exch":
                yield atomic(
                    space, f"red {op}.{t}", kind, f"red.{space}.{op}.{t} [%w], %b;", (kind, kind), returns=False
                )
        for t in ("b16", "b32", "b64"):
            yield atomic(space, f"cas.{t}", t, f"atom.{space}.cas.{t} %d, [%w], %b, %c;", (t, t, t), returns=True)
        # All lanes of a block at one word; the order is open, what is left behind is not.
        for op, t in (
            ("add", "u32"),
            ("min", "s32"),
            ("max", "u32"),
            ("and", "b32"),
            ("or", "b32"),
            ("xor", "b32"),
            ("add", "f32"),
            ("inc", "u32"),
        ):
            if space == "global":
                continue
            value = (
                "and.b32 %x, %a, 255; cvt.rn.f32.u32 %x, %x;"
                if t == "f32"
                else "mov.b32 %x, 90;"
                if op == "inc"
                else "mov.b32 %x, %a;"
            )
            body = (
                ".shared .align 4 .b32 cell; st.shared.b32 [cell], 0; bar.sync 0; "
                + value
                + f" red.shared.{op}.{t} [cell], %x; bar.sync 0; ld.shared.b32 %d, [cell];"
            )
            yield Form(f"red.shared.{op}.{t} together", body, ("b32",), ("b32",), lanes=128)
    body = (
        ".shared .align 4 .b32 cell; .shared .align 4 .b32 sum; "
        "st.shared.b32 [cell], 0; st.shared.b32 [sum], 0; bar.sync 0; "
        "atom.shared.add.u32 %x, [cell], 3; red.shared.add.u32 [sum], %x; bar.sync 0; ld.shared.b32 %d, [sum];"
    )
    yield Form("atom.shared.add.u32 tickets", body, ("b32",), (), lanes=128)


def atomic(space: str, name: str, kind: str, instruction: str, operands: tuple[str, ...], returns: bool) -> Form:
    size = bits_of(kind) // 8
    if space == "global":  # the place where the second (or only) result will be stored
        offset = LANES[len(operands)] * size if returns else 0
        place, declare = f"mad.wide.u32 %w, %thread, {size}, %out; add.u64 %w, %w, {offset};", ""
    else:
        declare = f".shared .align 8 .b8 cells[{64 * size}]; "
        place = f"mov.u32 %x, %tid.x; mov.u64 %w, cells; mad.wide.u32 %w, %x, {size}, %w;"
    left = "%d1" if returns else "%d"
    body = f"{declare}{place} st.{space}.b{size * 8} [%w], %a; {instruction} ld.{space}.b{size * 8} {left}, [%w];"
    return Form(f"atom.{space}.{name}", body, (kind, kind) if returns else (kind,), operands)


def wide_atomics() -> Iterator[Form]:
    """Cells of several values: vectors, 128 bits, bulk reductions.  Each thread has sixteen bytes of its own."""
    shared = ".shared .align 16 .b8 cells[1024]; mov.u32 %x, %tid.x; mov.u64 %w, cells; mad.wide.u32 %w, %x, 16, %w; "
    cell = ".global .align 16 .b8 scratch[2048]; mov.u64 %w, scratch; mad.wide.u32 %w, %thread, 16, %w; "
    for op in ("exch", "cas"):
        third = ", %two" if op == "cas" else ""
        for hit in (0, 1):
            compared = "{%a, %b}" if hit else "{%b, %a}"
            body = (
                f"{shared} .reg .b128 %one, %two, %old; mov.b128 %one, {compared}; mov.b128 %two, {{%c, %a}}; "
                f"st.shared.v2.b64 [%w], {{%a, %b}}; atom.shared.{op}.b128 %old, [%w], %one{third}; "
                "mov.b128 {%d, %d1}, %old; ld.shared.v2.b64 {%d2, %d3}, [%w];"
            )
            yield Form(f"atom.shared.{op}.b128 {hit}", body, ("b64",) * 4, ("b64",) * 3, lanes=128)
    for kind, count in (("f32", 2), ("f32", 4)):
        given, added = ("%a, %b", "%c, %e") if count == 2 else ("%a, %b, %c, %e", "%f, %g, %i, %j")
        results = ", ".join(f"%d{i or ''}" for i in range(count))
        old = ", ".join(f"%d{i}" for i in range(count, 2 * count))
        start = f"{cell} st.global.v{count}.b32 [%w], {{{given}}}; "
        end = f" ld.global.v{count}.b32 {{{results}}}, [%w];"
        yield Form(
            f"red.global.v{count}.{kind}.add",
            f"{start} red.global.v{count}.{kind}.add [%w], {{{added}}};{end}",
            (kind,) * count,
            (kind,) * (2 * count),
            lanes=128,
        )
        yield Form(
            f"atom.global.v{count}.{kind}.add",
            f"{start} atom.global.v{count}.{kind}.add {{{old}}}, [%w], {{{added}}};{end}",
            (kind,) * (2 * count),
            (kind,) * (2 * count),
            lanes=128,
        )
    for kind in ("f16x2", "bf16x2"):
        for op in ("add", "min", "max"):
            body = (
                f"{cell} st.global.v2.b32 [%w], {{%a, %b}}; "
                f"atom.global.v2.{kind}.{op}.noftz {{%d2, %d3}}, [%w], {{%c, %e}}; "
                "ld.global.v2.b32 {%d, %d1}, [%w];"
            )
            yield Form(f"atom.global.v2.{kind}.{op}.noftz", body, (kind,) * 4, (kind,) * 4, lanes=128)
    table = [("add", t) for t in ("u32", "s32", "u64", "f32", "f64")]
    table += [(op, t) for op in ("min", "max") for t in ("u32", "s32", "u64", "s64", "f16", "bf16")]
    table += [("inc", "u32"), ("dec", "u32"), ("add", "noftz.f16"), ("add", "noftz.bf16")]
    table += [(op, t) for op in ("and", "or", "xor") for t in ("b32", "b64")]
    for op, t in table:
        kind = t.split(".")[-1]
        kind = f"{kind}x2" if bits_of(kind) == 16 and kind[-2:] == "16" and "f" in kind else kind
        n, size = 128 // bits_of(kind), bits_of(kind)
        names = [f"%{name}" for name in NAMES[: 2 * n]]
        results = ", ".join(f"%d{i or ''}" for i in range(n))
        body = (
            f"{cell} .shared .align 16 .b8 rows[1024]; mov.u32 %y, rows; "
            "mov.u32 %x, %tid.x; mad.lo.u32 %y, %x, 16, %y; "
            f"st.global.v{n}.b{size} [%w], {{{', '.join(names[:n])}}}; "
            f"st.shared.v{n}.b{size} [%y], {{{', '.join(names[n:])}}}; fence.proxy.async; "
            f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{t} [%w], [%y], 16; "
            "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; fence.proxy.async; "
            f"ld.global.v{n}.b{size} {{{results}}}, [%w];"
        )
        yield Form(f"cp.reduce.async.bulk.{op}.{t}", body, (kind,) * n, (kind,) * (2 * n), lanes=128)


def control() -> Iterator[Form]:
    targets = "many: .branchtargets L0, L1, L2, L3; and.b32 %x, %a, 3; mov.b32 %d, 9; brx.idx %x, many; "
    targets += "L0: add.u32 %d, %d, 100; L1: add.u32 %d, %d, %lane; L2: mul.lo.u32 %d, %d, 7; L3: add.u32 %d, %d, 1;"
    yield Form("brx.idx", targets, ("b32",), ("b32",))
    yield Form("mov.v4.u32 %ntid", "mov.v4.u32 {%d, %d1, %d2, %d3}, %ntid;", ("b32",) * 4, (), lanes=64)
    for name in ("clusterid.w", "nclusterid.x", "cluster_nctaid.x", "cluster_ctarank", "cluster_nctarank", "ctaid.w"):
        yield Form(f"%{name}", f"mov.u32 %d, %{name};", ("b32",), (), lanes=64)
    yield Form("%is_explicit_cluster", "mov.pred %d, %is_explicit_cluster;", ("pred",), (), lanes=64)
    body = (
        "stacksave.u64 %w; alloca.u64 %d, 24, 16; stackrestore.u64 %w; alloca.u64 %d1, 40, 16; "
        "sub.u64 %d, %d, %d1; and.b64 %d1, %d1, 15;"
    )
    yield Form("alloca after stackrestore", body, ("b64", "b64"), (), lanes=64)


def matrices() -> Iterator[Form]:
    """mma.sync: exact, also where an H200 does not round as IEEE does, for softcuda models how it cuts off."""
    shapes = [
        ("m16n8k8", "f16", 2, 1),
        ("m16n8k16", "f16", 4, 2),
        ("m16n8k8", "bf16", 2, 1),
        ("m16n8k16", "bf16", 4, 2),
        ("m16n8k4", "tf32", 2, 1),
        ("m16n8k8", "tf32", 4, 2),
    ]
    for shape, t, a, b in shapes:
        for values in ("int", "unit", "wide", "rare"):
            pair = f"{values}{1 if t == 'tf32' else 2}:{t}"
            for to in ("f32", "f16") if t == "f16" else ("f32",):
                c = 4 if to == "f32" else 2
                addend = f"{values}1:f32" if to == "f32" else f"{values}2:f16"
                name = f"mma.sync.aligned.{shape}.row.col.{to}.{t}.{t}.{to}"
                yield matrix(f"{name} {values}", name, [pair] * a, [pair] * b, [addend] * c)
    name = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
    powers = " ".join(f"and.b32 %{n}, %{n}, 0xb0b0b0b0;" for n in NAMES[:6])
    form = matrix(name, name, ["b32"] * 4, ["b32"] * 2, ["int1:f32"] * 4)
    yield Form(form.name, f"{powers} {form.body}", form.results, form.operands, form.check, form.lanes)
    for ta, tb in (("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")):
        for shape, a, b in (("m16n8k16", 2, 1), ("m16n8k32", 4, 2)):
            for to in ("f32", "f16"):
                for values in ("wide", "rare"):
                    name = f"mma.sync.aligned.{shape}.row.col.{to}.{ta}.{tb}.{to}"
                    sums = [f"{values}1:f32"] * 4 if to == "f32" else [f"{values}2:f16"] * 2
                    yield matrix(f"{name} {values}", name, [f"{values}4:{ta}"] * a, [f"{values}4:{tb}"] * b, sums)
    # The form of sm_70, which later hardware emulates; how it rounds to f16 is not known to the last bit.
    for layouts in ("row.col", "col.row", "row.row", "col.col"):
        for to in ("f32", "f16"):
            name = f"mma.sync.aligned.m8n8k4.{layouts}.{to}.f16.f16.{to}"
            sums = ["wide1:f32"] * 8 if to == "f32" else ["wide2:f16"] * 4
            yield matrix(name, name, ["wide2:f16"] * 2, ["wide2:f16"] * 2, sums, "exact" if to == "f32" else "ulp:1")
    name = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"
    whole = " ".join(f"cvt.s64.s8 %{n}, %{n}; cvt.rn.f64.s64 %{n}, %{n};" for n in NAMES[:4])
    yield Form(
        name, f"{whole} {name} {{%d, %d1}}, {{%a}}, {{%b}}, {{%c, %e}};", ("f64", "f64"), ("b64",) * 4, lanes=128
    )
    for shape, a, b, c in (("m8n8k4", 1, 1, 2), ("m16n8k4", 2, 1, 4), ("m16n8k8", 4, 2, 4), ("m16n8k16", 8, 4, 4)):
        for values in ("wide", "rare"):
            for rounding in ("", ".rz", ".rm", ".rp") if values == "wide" else ("",):
                name = f"mma.sync.aligned.{shape}.row.col{rounding}.f64.f64.f64.f64"
                yield matrix(f"{name} {values}", name, *([f"{values}1:f64"] * n for n in (a, b, c)), result="f64")
    # ldmatrix: lane i stores a word and names a row of sixteen bytes.
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            name = f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16"
            results = "{" + ", ".join(f"%d{i or ''}" for i in range(count)) + "}"
            body = (
                ".shared .align 16 .b8 rows[1024]; mov.u64 %w, rows; cvt.u32.u64 %y, %w; mov.u32 %x, %tid.x; "
                "mad.lo.u32 %x, %x, 16, %y; st.shared.v4.b32 [%x], {%a, %b, %c, %e}; bar.sync 0; "
                f"xor.b32 %x, %x, 48; {name} {results}, [%x];"
            )
            yield Form(name, body, ("b32",) * count, ("b32",) * 4, lanes=128)
            registers = "{" + ", ".join(f"%{n}" for n in NAMES[:count]) + "}"
            name = f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16"
            body = (
                ".shared .align 16 .b8 rows[1024]; mov.u64 %w, rows; cvt.u32.u64 %y, %w; mov.u32 %x, %tid.x; "
                f"mad.lo.u32 %x, %x, 16, %y; st.shared.v4.b32 [%x], {{1, 2, 3, 4}}; bar.sync 0; "
                f"{name} [%x], {registers}; bar.sync 0; "
                "ld.shared.v4.b32 {%d, %d1, %d2, %d3}, [%x];"
            )
            yield Form(name, body, ("b32",) * 4, ("b32",) * count, lanes=128)
    yield plain("movmatrix.sync.aligned.m8n8.trans.b16", "b32", "b32", lanes=128)
    for ta in ("s8", "u8"):
        for tb in ("s8", "u8"):
            for shape, a, b in (("m16n8k16", 2, 1), ("m16n8k32", 4, 2)):
                for sat in ("", ".satfinite"):
                    name = f"mma.sync.aligned.{shape}.row.col{sat}.s32.{ta}.{tb}.s32"
                    yield matrix(name, name, ["b32"] * a, ["b32"] * b, ["s32"] * 4)
    for bits, shapes_of_bits in (
        ("8", (("m8n8k16", 1, 1, 2),)),
        ("4", (("m8n8k32", 1, 1, 2), ("m16n8k32", 2, 1, 4), ("m16n8k64", 4, 2, 4))),
    ):
        for ta, tb in (("s", "s"), ("s", "u"), ("u", "s"), ("u", "u")):
            for shape, a, b, c in shapes_of_bits:
                for sat in ("", ".satfinite"):
                    name = f"mma.sync.aligned.{shape}.row.col{sat}.s32.{ta}{bits}.{tb}{bits}.s32"
                    yield matrix(name, name, ["b32"] * a, ["b32"] * b, ["s32"] * c)
    for shape, a, b, c in (("m8n8k128", 1, 1, 2), ("m16n8k128", 2, 1, 4), ("m16n8k256", 4, 2, 4)):
        for op in ("xor", "and"):
            name = f"mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.{op}.popc"
            yield matrix(name, name, ["b32"] * a, ["b32"] * b, ["s32"] * c)


def sparse_matrices() -> Iterator[Form]:
    """mma.sp.  Indices ascend within each four bits: what else a selector's lanes may hold is not defined."""
    table = [
        ("m16n8k16", "f16", "f16", "f32", 2, 2, 4),
        ("m16n8k16", "f16", "f16", "f16", 2, 2, 4),
        ("m16n8k32", "f16", "f16", "f32", 4, 4, 2),
        ("m16n8k32", "f16", "f16", "f16", 4, 4, 2),
        ("m16n8k16", "bf16", "bf16", "f32", 2, 2, 4),
        ("m16n8k32", "bf16", "bf16", "f32", 4, 4, 2),
        ("m16n8k8", "tf32", "tf32", "f32", 2, 2, 4),
        ("m16n8k16", "tf32", "tf32", "f32", 4, 4, 2),
        ("m16n8k64", "e4m3", "e4m3", "f32", 4, 4, 1),
        ("m16n8k64", "e5m2", "e4m3", "f32", 4, 4, 1),
        ("m16n8k32", "s8", "u8", "s32", 2, 2, 2),
        ("m16n8k64", "s8", "s8", "s32", 4, 4, 1),
        ("m16n8k64", "s4", "u4", "s32", 2, 2, 2),
        ("m16n8k128", "u4", "s4", "s32", 4, 4, 1),
    ]
    for shape, ta, tb, to, a, b, selectors in table:
        whole = to == "s32"
        per = {"f16": "2", "bf16": "2", "tf32": "1"}.get(ta, "4")
        factors = [["b32"] * n if whole else [f"wide{per}:{t}"] * n for t, n in ((ta, a), (tb, b))]
        sums = ["s32"] * 4 if whole else ["wide1:f32"] * 4 if to == "f32" else ["wide2:f16"] * 2
        for ordered in ("::ordered_metadata", ""):
            for selector in range(selectors):
                name = f"mma.sp{ordered}.sync.aligned.{shape}.row.col.{to}.{ta}.{tb}.{to}"
                indices = "sparse1" if ta == "tf32" else "sparse2"
                yield matrix(f"{name} {selector}", name, *factors, sums, tail=(indices, selector))


def wmma_matrices() -> Iterator[Form]:
    """wmma through shared memory: what fragments hold after a load, what a store leaves, and products between."""
    shapes: list[tuple[int, int, int, tuple[str, ...]]] = [
        (m, n, 16, ("f16", "bf16", "s8", "u8")) for m, n in ((16, 16), (32, 8), (8, 32))
    ]
    shapes += [(16, 16, 8, ("tf32",)), (8, 8, 4, ("f64",)), (8, 8, 32, ("s4", "u4")), (8, 8, 128, ("b1",))]
    width = {"f16": 16, "bf16": 16, "s8": 8, "u8": 8, "tf32": 32, "f64": 64, "s4": 4, "u4": 4, "b1": 1}
    for m, n, k, types in shapes:
        shape = f"m{m}n{n}k{k}"
        for t in types:
            bits, word = width[t], "b64" if t == "f64" else "b32"
            size = 64 if t == "f64" else 32
            words = {"a": m * k * bits // 32 // size, "b": k * n * bits // 32 // size}
            registers = {x: 8 if t == "f16" else count for x, count in words.items()}
            leading = {"a.row": k, "a.col": m, "b.row": n, "b.col": k}
            sides = ("a.row", "a.col", "b.row", "b.col") if bits >= 8 else ("a.row", "b.col")
            for side in sides:
                x = side[0]
                load = f"wmma.load.{side[0]}.sync.aligned.{side[2:]}.{shape}.shared.{t}"
                results = braces("d", registers[x])
                body = f"{staged(words[x], size)} {load} {results}, [%w], {leading[side]};"
                yield Form(load, body, (word,) * registers[x], (word,) * words[x], lanes=128)
            for to in (
                ("f32", "f16") if t == "f16" else ("f64",) if t == "f64" else ("f32",) if t in "bf16 tf32" else ("s32",)
            ):
                c = m * n // 32 // (2 if to == "f16" else 1)
                values = "b32" if to == "s32" else f"wide{2 if to == 'f16' else 1}:{to}"
                factor = "b32" if to == "s32" else f"wide{32 // bits if bits < 64 else 1}:{t}"
                if t == types[0]:
                    yield from wmma_sums(shape, m, n, to, c)
                if t == "f16":
                    yield from wmma_conversions(shape, to)
                kinds = f"{to}.{to}" if t == "f16" else f"{to}.{t}.{t}.{to}"
                for op in (".xor.popc", ".and.popc") if t == "b1" else ("",):
                    for layouts in ("row.col", "col.row") if bits >= 8 else ("row.col",):
                        la, lb = layouts.split(".")
                        name = f"wmma.mma{op}.sync.aligned.{layouts}.{shape}.{kinds}"
                        kind = "f64" if to == "f64" else "b32"
                        fragments = (
                            f".reg .{kind} {braces('fa', registers['a'])[1:-1]}, {braces('fb', registers['b'])[1:-1]};"
                        )
                        load = [
                            f"{staged(words[x], size, first).removeprefix(SHARED)} "
                            f"wmma.load.{x}.sync.aligned.{by}.{shape}.shared.{t} "
                            f"{braces('f' + x, registers[x])}, [%w], {leading[f'{x}.{by}']}; bar.sync 0;"
                            for x, by, first in (("a", la, 0), ("b", lb, words["a"]))
                        ]
                        at = words["a"] + words["b"]
                        c_registers = "{" + ", ".join(f"%{r}" for r in NAMES[at : at + c]) + "}"
                        a_registers, b_registers = (braces("f" + x, registers[x]) for x in "ab")
                        product = f"{name} {braces('d', c)}, {a_registers}, {b_registers}, {c_registers};"
                        body = f"{fragments} {SHARED} {load[0]} {load[1]} {product}"
                        result = "f16x2" if to == "f16" else to
                        yield Form(name, body, (result,) * c, (factor,) * at + (values,) * c, lanes=128)


def wmma_conversions(shape: str, to: str) -> Iterator[Form]:
    """Sums of one type from addends of the other; A and B hold one number each, so that no load is needed."""
    result, addend = (8, 4) if to == "f32" else (4, 8)
    fill = " ".join(f"mov.b32 %fa{i or ''}, %o; mov.b32 %fb{i or ''}, %r;" for i in range(8))
    name = f"wmma.mma.sync.aligned.row.col.{shape}.{to}.{'f16' if to == 'f32' else 'f32'}"
    registers = f".reg .b32 {braces('fa', 8)[1:-1]}, {braces('fb', 8)[1:-1]};"
    c = "{" + ", ".join(f"%{n}" for n in NAMES[:addend]) + "}"
    product = f"{name} {braces('d', result)}, {braces('fa', 8)}, {braces('fb', 8)}, {c};"
    body = f"{registers} .reg .b32 %o, %r; mov.b32 %o, 0x3c013bff; mov.b32 %r, 0x3555b801; {fill} {product}"
    kind = "wide2:f16" if to == "f32" else "wide1:f32"
    yield Form(name, body, ("f32" if to == "f32" else "f16x2",) * result, (kind,) * addend, "ulp:1", lanes=128)


SHARED = ".shared .align 128 .b8 tile[4096];"


def staged(count: int, bits: int, first: int = 0) -> str:
    """Each warp's lanes put `count` operands into its half of shared memory; %w points there."""
    names = NAMES[first : first + count]
    size = bits // 8
    lines = [f"{SHARED} mov.u64 %w, tile; mov.u32 %x, %tid.x; and.b32 %x, %x, 32; mad.wide.u32 %w, %x, 64, %w;"]
    lines.append(f"mad.wide.u32 %address, %lane, {count * size}, %w;")
    lines += [f"st.shared.b{bits} [%address+{i * size}], %{name};" for i, name in enumerate(names)]
    lines.append("bar.sync 0;")
    return " ".join(lines)


def braces(name: str, count: int) -> str:
    return "{" + ", ".join(f"%{name}{i or ''}" for i in range(count)) + "}"


def wmma_sums(shape: str, m: int, n: int, to: str, count: int) -> Iterator[Form]:
    """Loads and stores of accumulators."""
    word, bits = ("b64", 64) if to == "f64" else ("b32", 32)
    for layout, leading in (("row", n), ("col", m)):
        load = f"wmma.load.c.sync.aligned.{layout}.{shape}.shared.{to}"
        body = f"{staged(count, bits)} {load} {braces('d', count)}, [%w], {leading};"
        yield Form(load, body, (word,) * count, (word,) * count, lanes=128)
        store = f"wmma.store.d.sync.aligned.{layout}.{shape}.shared.{to}"
        registers = "{" + ", ".join(f"%{x}" for x in NAMES[:count]) + "}"
        reads = " ".join(f"ld.shared.b{bits} %d{i or ''}, [%address+{i * bits // 8}];" for i in range(count))
        body = f"{staged(count, bits)} {store} [%w], {registers}, {leading}; bar.sync 0; {reads}"
        yield Form(store, body, (word,) * count, (word,) * count, lanes=128)


def matrix(
    name: str,
    instruction: str,
    a: list[str],
    b: list[str],
    c: list[str],
    check: str = "exact",
    result: str = "",
    tail: tuple[str, int] | None = None,  # a sparse A: the kind of its indices, and the selector
) -> Form:
    kinds = (*a, *b, *c, *(tail[:1] if tail else ()))
    registers = [f"%{n}" for n, _ in zip(NAMES, kinds, strict=False)]

    def some(first: int, count: int) -> str:
        return "{" + ", ".join(registers[first : first + count]) + "}"

    body = f"{instruction} {braces('d', len(c))}, {some(0, len(a))}, {some(len(a), len(b))}, "
    body += some(len(a) + len(b), len(c))
    body += f", {registers[-1]}, {tail[1]};" if tail else ";"
    layouts = ("row.col", "col.row", "row.row", "col.col")
    half = any(f".{layout}.f16" in instruction for layout in layouts)
    kind = result or ("f16x2" if half else "s32" if ".s32" in instruction else "f32")
    return Form(name, body, (kind,) * len(c), kinds, check, lanes=128)


GROUPS = (
    *(integers, carries, bits, video, scalar_video, floats, flushes, halves, comparisons, conversions),
    *(warps, atomics, wide_atomics, control, matrices, sparse_matrices, wmma_matrices),
)
# By family, each name once in all.
FAMILIES: dict[str, list[Form]] = {}
_seen: set[str] = set()
for _group in GROUPS:
    _forms = {form.name: form for form in _group() if form.name not in _seen}
    _seen |= set(_forms)
    FAMILIES[_group.__name__] = list(_forms.values())


def all_forms() -> tuple[Form, ...]:
    """Every form, each name once."""
    return tuple(form for forms in FAMILIES.values() for form in forms)
