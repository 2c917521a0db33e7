# ruff: noqa: E501  (CUDA C++ in strings, and tables)
"""Random CUDA C++ that means the same to every compiler: no overflow, shift or conversion is undefined.

`Generator(seed).kernel("name")` is a function of `const uint64_t *in, uint64_t *out, int thread`: it reads INPUTS
words of its thread, computes with variables of all types under nested, data-dependent control flow, and writes OUTPUTS
words.  PRELUDE holds the helpers that give each operator one meaning.
"""

from __future__ import annotations

import random

INPUTS, OUTPUTS = 8, 10

INTEGERS = {
    "int8_t": 8, "uint8_t": 8, "int16_t": 16, "uint16_t": 16, "int32_t": 32, "uint32_t": 32, "int64_t": 64,
    "uint64_t": 64, "i128": 128, "u128": 128,
}  # fmt: skip
FLOATS = ["float", "double"]

PRELUDE = r"""
#include <stdint.h>
#include <string.h>
#include <math.h>
typedef __int128 i128;
typedef unsigned __int128 u128;
template <class T> struct wide { typedef uint32_t type; };          // where arithmetic wraps
template <> struct wide<int64_t> { typedef uint64_t type; };
template <> struct wide<uint64_t> { typedef uint64_t type; };
template <> struct wide<i128> { typedef u128 type; };
template <> struct wide<u128> { typedef u128 type; };
template <class T> struct is_signed { static const bool value = T(-1) < T(0); };
#define W typename wide<T>::type
template <class T> DEVICE T add(T a, T b) { return T(W(a) + W(b)); }
template <class T> DEVICE T sub(T a, T b) { return T(W(a) - W(b)); }
template <class T> DEVICE T mul(T a, T b) { return T(W(a) * W(b)); }
template <class T> DEVICE T mad(T a, T b, T c) { return T(W(a) * W(b) + W(c)); }
template <class T> DEVICE T quo(T a, T b) { return b == 0 ? a : is_signed<T>::value && b == T(-1) ? T(W(0) - W(a)) : T(a / b); }
template <class T> DEVICE T rem(T a, T b) { return b == 0 ? a : is_signed<T>::value && b == T(-1) ? T(0) : T(a % b); }
template <class T> DEVICE T shl(T a, uint32_t n) { return T(W(a) << (n & (sizeof(T) * 8 - 1))); }
template <class T> DEVICE T shr(T a, uint32_t n) { return T(a >> (n & (sizeof(T) * 8 - 1))); }
template <class T> DEVICE T rot(T a, uint32_t n) { n &= sizeof(T) * 8 - 1; W u = W(a) & (~W(0) >> ((sizeof(W) - sizeof(T)) * 8));
    return n ? T(u << n | u >> (sizeof(T) * 8 - n)) : a; }
template <class T> DEVICE T low(T a, T b) { return b < a ? b : a; }
template <class T> DEVICE T high(T a, T b) { return a < b ? b : a; }
template <class T> DEVICE T gap(T a, T b) { return a < b ? T(W(b) - W(a)) : T(W(a) - W(b)); }
template <class T, class F> DEVICE T whole(F x, F least, F most) { return x >= least && x < most ? T(x) : T(7); }
DEVICE float quo(float a, float b) { return a / b; }
DEVICE double quo(double a, double b) { return a / b; }
DEVICE float sign_of(float a, float b) { return b != b ? a : copysignf(a, b); }      // the sign of a NaN is anybody's
DEVICE double sign_of(double a, double b) { return b != b ? a : copysign(a, b); }
DEVICE uint64_t bits(double x) { uint64_t u; if (x != x) return 0x7ff8dead; memcpy(&u, &x, 8); return u; }
DEVICE uint64_t bits(float x) { uint32_t u; if (x != x) return 0x7fc0; memcpy(&u, &x, 4); return u; }
template <class T> DEVICE uint64_t bits(T x) { return sizeof(T) > 8 ? uint64_t(u128(x) >> 64) * 31 + uint64_t(x) : uint64_t(x); }
DEVICE float from_bits(uint64_t u, float) { float x; uint32_t v = uint32_t(u); memcpy(&x, &v, 4); return x; }
DEVICE double from_bits(uint64_t u, double) { double x; memcpy(&x, &u, 8); return x; }
template <class T> DEVICE T from_bits(uint64_t u, T) { return T(sizeof(T) > 8 ? u128(u) * 0x9e3779b97f4a7c15u ^ u : u); }
"""


class Generator:
    def __init__(self, seed: int, *, floats: bool = True, wide: bool = True) -> None:
        self.random = random.Random(seed)
        self.integers = [name for name, width in INTEGERS.items() if wide or width <= 64]
        self.types = self.integers + (FLOATS if floats else [])
        self.variables: dict[str, str] = {}
        self.names = 0

    # --- expressions

    def literal(self, kind: str) -> str:
        if kind in FLOATS:
            return f"{kind}({self.random.choice([0.0, 1.0, -2.5, 0.1, 3e30, -1e-30, 1e-42, 65536.0])!r})"
        width = INTEGERS[kind]
        value = self.random.choice([0, 1, 2, 3, 7, 31, 127, 128, 255, 1 << (min(width, 64) - 1), (1 << min(width, 64)) - 1,
                                    self.random.getrandbits(16), self.random.getrandbits(min(width, 64))])  # fmt: skip
        return f"{kind}({value & ((1 << min(width, 64)) - 1)}u{'ll' if width >= 32 else ''})"

    def leaf(self, kind: str) -> str:
        same = [name for name, other in self.variables.items() if other == kind]
        if same and self.random.random() < 0.8:
            return self.random.choice(same)
        if self.random.random() < 0.25:
            return self.literal(kind)
        if kind in self.integers and self.random.random() < 0.4:
            return f"{kind}(memory[{self.expression('uint32_t', 0)} & 7])"
        return f"from_bits(in[{self.random.randrange(INPUTS)}], {kind}())"

    def expression(self, kind: str, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.1:
            return self.leaf(kind)
        pick, sub = self.random.random(), lambda k=kind: self.expression(k, depth - 1)
        if pick < 0.12:
            return f"({self.condition(depth - 1)} ? {sub()} : {sub()})"
        if pick < 0.32:
            return self.convert(kind, depth)
        if kind in FLOATS:
            f = "f" if kind == "float" else ""
            return self.random.choice([
                lambda: f"({sub()} + {sub()})", lambda: f"({sub()} - {sub()})", lambda: f"({sub()} * {sub()})",
                lambda: f"quo({sub()}, {sub()})", lambda: f"fma{f}({sub()}, {sub()}, {sub()})",
                lambda: f"sqrt{f}({sub()})", lambda: f"fabs{f}({sub()})", lambda: f"(-{sub()})",
                lambda: f"floor{f}({sub()})", lambda: f"trunc{f}({sub()})", lambda: f"rint{f}({sub()})",
                lambda: f"ceil{f}({sub()})", lambda: f"sign_of({sub()}, {sub()})",
            ])()  # fmt: skip
        return self.random.choice([
            lambda: f"add({sub()}, {sub()})", lambda: f"sub({sub()}, {sub()})", lambda: f"mul({sub()}, {sub()})",
            lambda: f"mad({sub()}, {sub()}, {sub()})", lambda: f"quo({sub()}, {sub()})",
            lambda: f"rem({sub()}, {sub()})", lambda: f"quo({sub()}, {self.literal(kind)})",
            lambda: f"rem({sub()}, {self.literal(kind)})", lambda: f"shl({sub()}, {sub('uint32_t')})",
            lambda: f"shr({sub()}, {sub('uint32_t')})", lambda: f"shl({sub()}, {self.random.randrange(128)}u)",
            lambda: f"shr({sub()}, {self.random.randrange(128)}u)", lambda: f"rot({sub()}, {sub('uint32_t')})",
            lambda: f"rot({sub()}, {self.random.randrange(64)}u)", lambda: f"{kind}({sub()} & {sub()})",
            lambda: f"{kind}({sub()} | {sub()})", lambda: f"{kind}({sub()} ^ {sub()})", lambda: f"{kind}(~{sub()})",
            lambda: f"low({sub()}, {sub()})", lambda: f"high({sub()}, {sub()})", lambda: f"gap({sub()}, {sub()})",
            lambda: f"{kind}({self.condition(depth - 1)})",
        ])()  # fmt: skip

    def convert(self, kind: str, depth: int) -> str:
        other = self.random.choice(self.types)
        inner = self.expression(other, depth - 1)
        if other in FLOATS and kind not in FLOATS:
            width = min(INTEGERS[kind], 64)
            least, most = (0, 1 << width) if kind.startswith("u") else (-(1 << (width - 1)), 1 << (width - 1))
            return f"whole<{kind}, {other}>({inner}, {other}({float(least)!r}), {other}({float(most)!r}))"
        return f"{kind}({inner})"

    def condition(self, depth: int) -> str:
        kind = self.random.choice(self.types)
        pick = self.random.random()
        if depth > 0 and pick < 0.15:
            return f"({self.condition(depth - 1)} {self.random.choice(['&&', '||', '!='])} {self.condition(depth - 1)})"
        if kind not in FLOATS and pick < 0.4:  # true for some threads and not for others
            return f"(({self.expression(kind, depth - 1)} & {kind}({self.random.choice([1, 2, 3, 6])})) != 0)"
        test = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        return f"({self.expression(kind, depth - 1)} {test} {self.expression(kind, depth - 1)})"

    # --- statements

    def assignment(self) -> str:
        pick = self.random.random()
        if pick < 0.12:
            return f"memory[{self.expression('uint32_t', 1)} & 7] = {self.expression('uint16_t', 2)};"
        if pick < 0.2:
            name = self.random.choice(["self.narrow", "self.letter", "self.word", "self.field"])
            return f"{name} = {self.expression('uint64_t', 2)};"
        name = self.random.choice(list(self.variables))
        return f"{name} = {self.expression(self.variables[name], self.random.randint(1, 3))};"

    def block(self, depth: int, in_loop: bool) -> str:
        return "\n".join(self.statement(depth, in_loop) for _ in range(self.random.randint(1, 3)))

    def statement(self, depth: int, in_loop: bool) -> str:
        pick = self.random.random()
        if depth <= 0 or pick < 0.35:
            if in_loop and pick < 0.08:
                return f"if {self.condition(1)} {self.random.choice(['break', 'continue'])};"
            if pick < 0.015:
                return f"if {self.condition(1)} {{ out[0] = 99; return; }}"
            return self.assignment()
        if pick < 0.6:
            other = f" else {{\n{self.block(depth - 1, in_loop)}\n}}" if self.random.random() < 0.6 else ""
            return f"if {self.condition(2)} {{\n{self.block(depth - 1, in_loop)}\n}}{other}"
        self.names += 1
        i = f"loop{self.names}"
        if pick < 0.75:
            trips = f"({self.expression('uint32_t', 1)} % {self.random.randint(1, 6)}u)"
            return f"for (uint32_t {i} = {trips}; {i} != 0; {i}--) {{\n{self.block(depth - 1, True)}\n}}"
        if pick < 0.87:
            return f"uint32_t {i} = 0;\ndo {{\n{self.block(depth - 1, False)}\n}} while (++{i} < 4 && {self.condition(1)});"
        cases = "".join(
            f"case {n}: {{\n{self.block(depth - 1, False)}\n}} {self.random.choice(['break;', 'break;', ''])}\n"
            for n in range(self.random.randint(2, 7))
        )
        return f"switch ({self.expression('uint32_t', 1)} % 8u) {{\n{cases}default: {self.assignment()}\n}}"

    def kernel(self, name: str) -> str:
        self.variables = {f"v{n}": self.random.choice(self.types) for n in range(OUTPUTS - 2)}
        declared = "".join(
            f"{kind} {name} = from_bits(in[{n % INPUTS}], {kind}());\n"
            for n, (name, kind) in enumerate(self.variables.items())
        )
        body = "\n".join(self.statement(3, False) for _ in range(self.random.randint(3, 6)))
        written = "".join(f"out[{n}] = bits({name});\n" for n, name in enumerate(self.variables))
        return (
            f"KERNEL void {name}(const uint64_t *in, uint64_t *out, int thread)\n{{\n"
            f"THREAD\nin += thread * {INPUTS};\nout += thread * {OUTPUTS};\n"
            "uint16_t memory[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
            "struct { uint8_t letter; uint16_t narrow; int64_t word; unsigned field : 11; } self = {1, 2, 3, 4};\n"
            f"{declared}{body}\n{written}"
            f"out[{OUTPUTS - 2}] = memory[0] + memory[3] * 3 + memory[5] * 5 + memory[7] * 7;\n"
            f"out[{OUTPUTS - 1}] = self.letter + self.narrow * 3 + self.word * 5 + self.field * 7;\n}}\n"
        )
