"""Cases of wgmma.mma_async: every type, scale and transposition on random and edge values; and where descriptors read.

All operands have 32 bytes of K in a row (64 of B where A is sparse), so that both placements below are of bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from conformance.inputs import random_bits

from hopper.cases import Case, blob, copy_in, kernel

FORMATS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "e4m3": (4, 3), "e5m2": (5, 2), "f32": (8, 23)}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "u8": 8, "s8": 8, "b1": 1, "f32": 32, "s32": 32}
SWIZZLES = {0: 0, 32: 3, 64: 2, 128: 1}  # bytes: the two topmost bits of a descriptor
U64 = np.uint64
CORE = 128  # bytes of a core matrix: 8 rows of 16


@dataclass(frozen=True)
class Form:
    """One wgmma instruction.  registers: A comes from registers.  signs, transposed: of A and B."""

    d: str
    a: str
    b: str
    n: int
    registers: bool
    signs: tuple[int, int] = (1, 1)
    transposed: tuple[int, int] = (0, 0)
    saturates: bool = False
    sparse: int | None = None  # the selector, if A is sparse
    repeat: int = 1

    @property
    def k(self) -> int:
        return 256 // BITS[self.a] * (1 if self.sparse is None else 2)

    @property
    def results(self) -> int:
        """Registers of D in a thread."""
        return self.n // 4 if self.d == "f16" else self.n // 2

    @property
    def name(self) -> str:
        parts = ["wgmma", f"m64n{self.n}k{self.k}.{self.d}.{self.a}.{self.b}", "reg" if self.registers else "desc"]
        if self.signs != (1, 1):
            parts.append("signs {:+d}{:+d}".format(*self.signs))
        if any(self.transposed):
            parts.append("transposed " + "ab"[not self.transposed[0]] + "b" * (sum(self.transposed) == 2))
        parts += ["satfinite"] * self.saturates + [f"x{self.repeat}"] * (self.repeat > 1)
        parts += [f"sparse {self.sparse}"] * (self.sparse is not None)
        return " ".join(parts)

    @property
    def instruction(self) -> str:
        d = ", ".join(f"%d{i}" for i in range(self.results))
        a = "{%a0, %a1, %a2, %a3}" if self.registers else "%desc_a"
        sp = ".sp" if self.sparse is not None else ""
        kinds = f"{self.d}.{self.a}.{self.b}"
        kinds += ".satfinite" * self.saturates + ".and.popc" * (self.a == "b1")
        text = f"wgmma.mma_async{sp}.sync.aligned.m64n{self.n}k{self.k}.{kinds} {{{d}}}, {a}, %desc_b, "
        if self.sparse is not None:
            text += f"%meta, {self.sparse}, "
        text += "%p"
        if self.a in FORMATS:
            text += ", {}, {}".format(*self.signs)
        if BITS[self.a] == 16:
            text += (f", {self.transposed[0]}" if not self.registers else "") + f", {self.transposed[1]}"
        return text + ";"

    def ptx(self) -> str:
        """Block i takes record i: descriptors, scale-d, and where its image, A, metadata and C lie in the input."""
        count = self.results
        product = "\n".join([self.instruction] * self.repeat)
        return kernel(
            f"""
.reg .b64 %desc_a, %desc_b, %image, %regs, %sums; .reg .b32 %size, %scale, %a<4>, %meta, %d<{count}>;
mad.wide.u32 %w, %block, 64, %in;
ld.global.v2.b64 {{%desc_a, %desc_b}}, [%w]; ld.global.v2.b32 {{%scale, %size}}, [%w+16];
ld.global.b64 %image, [%w+24]; ld.global.v2.b64 {{%regs, %sums}}, [%w+32];
add.u64 %image, %image, %in; add.u64 %regs, %regs, %in; add.u64 %sums, %sums, %in;
{copy_in("%image", "%size", 128, "copy")}
mad.wide.u32 %w1, %t, 4, %regs;
{" ".join(f"ld.global.b32 %a{i}, [%w1+{512 * i}];" for i in range(4))} ld.global.b32 %meta, [%w1+2048];
mad.wide.u32 %w1, %t, 4, %sums;
{" ".join(f"ld.global.b32 %d{i}, [%w1+{512 * i}];" for i in range(count))}
shr.u32 %x, %m, 4; cvt.u64.u32 %w2, %x; add.u64 %desc_a, %desc_a, %w2; add.u64 %desc_b, %desc_b, %w2;
setp.ne.b32 %p, %scale, 0;
fence.proxy.async; bar.sync 0;
wgmma.fence.sync.aligned;
{product}
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
mul.lo.u32 %y, %block, {512 * count}; cvt.u64.u32 %w3, %y; add.u64 %w3, %w3, %out; mad.wide.u32 %w3, %t, 4, %w3;
{" ".join(f"st.global.b32 [%w3+{512 * i}], %d{i};" for i in range(count))}"""
        )


@dataclass(frozen=True)
class Shot:
    """One product.  Rows of A (64 × 32 bytes) and of B's columns (n × 32 or 64 bytes), and C (64 × n words)."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    scale_d: int = 1
    meta: np.ndarray | None = None


# --- values


def float_bits(raw: np.ndarray, kind: str, style: str, sums: bool) -> np.ndarray:
    """Bits of floats, from random 64-bit words; `sums`: of an addend, whose exponents spread further."""
    exponent, fraction = FORMATS[kind]
    bias, top, low = (1 << exponent - 1) - 1, (1 << exponent) - 1, U64((1 << fraction) - 1)
    if style == "any":
        return raw & U64((1 << 1 + exponent + fraction) - 1)
    sign, mantissa, pick = raw >> U64(63), raw & low, raw >> U64(30) & U64(0xFFFFF)
    narrow = min(2 * bias - 1, 49 if sums else 25)
    first, span = {
        "close": (bias - 3, 7),
        "tiny": (0, 24 if sums else max(4, bias * 5 // 8)),
        "huge": (max(0, top - 4 if sums else (bias + top) // 2 - 4), 4 if sums else 8),
        "subnormal": (0, 3),
    }.get(style, (bias - narrow // 2, narrow))
    power = np.minimum(U64(first) + pick % U64(span), U64(top - 1 if kind != "e4m3" else top))
    if style == "subnormal":
        power = np.where(pick % U64(4) < U64(3), U64(0), power + U64(bias if not sums else 1))
        power = np.minimum(power, U64(top - 1))
    if style == "powers":
        mantissa = np.where(pick >> U64(10) & U64(3) == 0, U64(1), U64(0))
    value = sign << U64(exponent + fraction) | power << U64(fraction) | mantissa
    if kind == "e4m3":  # the one pattern that is NaN comes from `any` and `rare` alone
        value = np.where(value & U64(0x7F) == U64(0x7F), value ^ U64(1), value)
    if style == "powers":
        value = np.where(pick >> U64(12) & U64(1) == 0, U64(0), value)
    if style == "rare":
        infinity = top << fraction
        corners = [0, 1, int(low), infinity, infinity | 1, infinity - 1, infinity | int(low), 1 << fraction]
        chosen = np.array(corners, U64)[(pick >> U64(3) & U64(7)).astype(int)] | sign << U64(exponent + fraction)
        value = np.where(pick >> U64(6) & U64(63) == 0, chosen, value)
    return value


def packed(bits: np.ndarray, width: int) -> np.ndarray:
    """Bit patterns of the last axis as bytes."""
    if width == 1:
        return np.packbits(bits.astype(np.uint8), axis=-1, bitorder="little")
    return np.ascontiguousarray(bits.astype(f"<u{width // 8}")).view(np.uint8)


def elements(seed: str, kind: str, rows: int, columns: int, style: str, sums: bool = False) -> np.ndarray:
    raw = random_bits(f"{seed} {kind} {style}", rows * columns).reshape(rows, columns)
    if kind in FORMATS:
        bits = float_bits(raw, kind, style, sums)
        if kind == "tf32":  # the 13 bits below, which do not count, are random
            return bits << U64(13) | raw >> U64(17) & U64(0x1FFF)
        return bits
    if kind == "b1":
        return raw >> U64(40) & U64(1)
    if kind == "s32":
        near = np.where(raw >> U64(50) & U64(1) == 0, U64(0x7FFFFFFF), U64(0x80000000)) ^ (raw & U64(0x7FFFF))
        return near if style == "ends" else raw & U64(0xFFFFFFFF)
    ends = np.array([0, 1, 0x7F, 0x80, 0xFF, 0x81, 0x7F, 0x80], U64)
    return ends[(raw >> U64(20) & U64(7)).astype(int)] if style == "ends" else raw & U64(0xFF)


def make_shot(form: Form, style: str, scale_d: int) -> Shot:
    """The values depend on types, shape and style, not on where A lies or how the operands are stored."""
    seed = f"wgmma n{form.n} {form.d} {form.a} {form.b} {form.sparse}"
    dense = form.k if form.sparse is None else form.k // 2
    a = elements(f"{seed} a", form.a, 64, dense, style)
    b = elements(f"{seed} b", form.b, form.n, form.k, style)
    c = elements(f"{seed} c", form.d, 64, form.n, style, sums=True)
    if style == "cancel":  # neighbours in K that nearly cancel each other
        flip = U64(1) << U64(BITS[form.a] - 1)
        a[:, 1::2] = a[:, 0::2] ^ flip
        unit = U64(1) << U64(13 if form.b == "tf32" else 0)
        b[:, 1::2] = b[:, 0::2] ^ (b[:, 1::2] & unit)
    if style == "pairs":  # two products in a row, and an addend in every other column
        column = np.arange(dense)
        raw = random_bits(f"{seed} pairs", 64)[:, None]
        a = np.where((column == raw % U64(dense)) | (column == (raw >> U64(20)) % U64(dense)), a, U64(0))
        c[:, ::2] = 0
    meta = None
    if form.sparse is not None:
        raw = random_bits(f"{seed} meta", 128 * 8).reshape(128, 8)
        nibbles = np.array([0x4, 0xE] if form.a == "tf32" else [0x4, 0x8, 0xC, 0x9, 0xD, 0xE], U64)
        meta = (nibbles[(raw % U64(len(nibbles))).astype(int)] << U64(4) * np.arange(8, dtype=U64)).sum(1)
        meta = meta.astype("<u4")
    wide = "<u2" if form.d == "f16" else "<u4"
    return Shot(packed(a, BITS[form.a]), packed(b, BITS[form.b]), c.astype(wide), scale_d, meta)


# --- where operands lie


def place_rows(rows: np.ndarray) -> np.ndarray:
    """K-major, no swizzle: core matrices of 8 rows × 16 bytes; along K they are CORE apart."""
    count, width = rows.shape
    return rows.reshape(count // 8, 8, width // 16, 16).transpose(0, 2, 1, 3).reshape(-1)


def place_columns(rows: np.ndarray) -> np.ndarray:
    """MN-major, no swizzle, of 16-bit elements: core matrices of 8 along K × 8 along M or N."""
    halves = rows.view("<u2")
    count, k = halves.shape
    return (
        np.ascontiguousarray(halves.reshape(count // 8, 8, k // 8, 8).transpose(0, 2, 3, 1)).view(np.uint8).reshape(-1)
    )


def descriptor(start: int, leading: int, stride: int, swizzle: int = 0, base: int = 0) -> int:
    """Offsets in bytes; `base` is the base offset."""
    return (
        (start >> 4 & 0x3FFF)
        | (leading >> 4 & 0x3FFF) << 16
        | (stride >> 4 & 0x3FFF) << 32
        | base << 49
        | SWIZZLES[swizzle] << 62
    )


THREADS = np.arange(128)
ROW = THREADS // 32 * 16 + THREADS % 32 // 4  # of a thread's first register, of A and of D
QUAD = THREADS % 4


def registers_of_a(rows: np.ndarray) -> np.ndarray:
    """(64, 32) bytes -> (4, 128) words."""
    words = np.ascontiguousarray(rows).view("<u4")
    return np.stack([words[ROW, QUAD], words[ROW + 8, QUAD], words[ROW, QUAD + 4], words[ROW + 8, QUAD + 4]])


def registers_of_sums(c: np.ndarray) -> np.ndarray:
    """(64, n) words, of 16 or 32 bits -> (registers, 128) words of 32."""
    n = c.shape[1]
    parts = []
    for j in range(n // 8):
        for row in (ROW, ROW + 8):
            low, high = c[row, 8 * j + 2 * QUAD].astype("<u4"), c[row, 8 * j + 2 * QUAD + 1].astype("<u4")
            parts += [low | high << np.uint32(16)] if c.itemsize == 2 else [low, high]
    return np.stack(parts)


def sums_of_registers(words: np.ndarray, n: int, half: bool) -> np.ndarray:
    """The inverse: (registers, 128) -> (64, n)."""
    c = np.zeros((64, n), "<u2" if half else "<u4")
    at = iter(words)
    for j in range(n // 8):
        for row in (ROW, ROW + 8):
            low = next(at)
            c[row, 8 * j + 2 * QUAD] = low & np.uint32(0xFFFF) if half else low
            c[row, 8 * j + 2 * QUAD + 1] = low >> np.uint32(16) if half else next(at)
    return c


@dataclass(frozen=True)
class Record:
    """What one block reads: see `Form.ptx`."""

    desc_a: int
    desc_b: int
    scale_d: int
    image: bytes
    a: bytes
    c: bytes


def packed_records(records: list[Record]) -> bytes:
    data, places = blob([part for r in records for part in (r.image, r.a, r.c)])
    heads = b""
    for i, r in enumerate(records):
        image, a, c = (64 * len(records) + place for place in places[3 * i : 3 * i + 3])
        heads += struct.pack("<QQIIQQQ16x", r.desc_a, r.desc_b, r.scale_d, len(r.image), image, a, c)
    return heads + data


def record_of(form: Form, shot: Shot) -> Record:
    a = place_columns(shot.a) if form.transposed[0] else place_rows(shot.a)
    b = place_columns(shot.b) if form.transposed[1] else place_rows(shot.b)
    meta = shot.meta if shot.meta is not None else np.zeros(128, "<u4")
    return Record(
        descriptor(0, CORE, 2 * CORE),
        descriptor(len(a), CORE, CORE * shot.b.shape[1] // 16),
        shot.scale_d,
        a.tobytes() + b.tobytes(),
        registers_of_a(shot.a).tobytes() + meta.tobytes(),
        registers_of_sums(shot.c).tobytes(),
    )


FLOAT_STYLES = ("close", "far", "any", "rare", "subnormal", "powers", "cancel", "tiny", "huge", "pairs")
SUMS = [("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32")]
SUMS += [(d, a, b) for d in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
INTEGERS = [("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8")]


def shots_of(form: Form) -> list[tuple[str, int]]:
    if form.a not in FORMATS:
        return [("any", 1), ("ends", 1), ("any", 0)]
    if form.n == 8:
        return [(style, 1) for style in FLOAT_STYLES] + [("far", 0), ("rare", 0)]
    return [("far", 1), ("rare", 1)] if form.n <= 24 else [("far", 1)]


def forms() -> Iterator[Form]:
    for d, a, b in SUMS:
        for registers in (True, False):
            for n in (8, 16, 24, 64, 96, 128, 256):
                yield Form(d, a, b, n, registers)
            for signs in ((-1, 1), (1, -1), (-1, -1)):
                yield Form(d, a, b, 8, registers, signs)
            if BITS[a] == 16:
                for transposed in ((0, 1),) if registers else ((1, 0), (0, 1), (1, 1)):
                    for n in (8, 64, 256):
                        yield Form(d, a, b, n, registers, (1, 1), transposed)
        yield Form(d, a, b, 8, True, repeat=4)
    for n in range(8, 257, 8):
        if n not in (8, 16, 24, 64, 96, 128, 256):
            yield Form("f32", "f16", "f16", n, False)
    for d, a, b in [*INTEGERS, ("s32", "b1", "b1")]:
        for registers in (True, False):
            for n in (8, 16, 24, 64, 96, 128, 256):
                for saturates in (False, True) if a != "b1" else (False,):
                    yield Form(d, a, b, n, registers, saturates=saturates)
    for d, a, b in [*SUMS, *INTEGERS]:
        for selector in (0, 1) if BITS[a] > 8 else (0,):
            for n in (8, 64):
                yield Form(d, a, b, n, True, sparse=selector)


def product_cases() -> list[Case]:
    cases = []
    for form in forms():
        shots = shots_of(form)

        def given(form: Form = form, shots: list = shots) -> bytes:
            return packed_records([record_of(form, make_shot(form, *shot)) for shot in shots])

        image = 2048 + form.n * (32 if form.sparse is None else 64)
        cases.append(
            Case(
                form.name,
                form.ptx(),
                given,
                len(shots) * 512 * form.results,
                grid=len(shots),
                shared=image,
                keep=form.n == 8,
                about=(form, shots),
            )
        )
    return cases


# --- where a descriptor reads: the operand's elements hold their own addresses

IMAGE = 122880  # bytes of an image whose elements are all different
LAYOUT_KINDS = {"f16": "f16", "u8": "s32", "tf32": "f32"}


def coded_image(kind: str, high: int = 0) -> np.ndarray:
    """Element i holds a number that only it holds; of bytes, one half of i."""
    size = max(1, BITS[kind] // 8)
    i = np.arange(IMAGE // size, dtype=np.uint32)
    if kind == "f16":  # all patterns but subnormal, infinite and NaN ones
        return np.where(i < 0x7800, 0x400 + i, 0x8400 + i - 0x7800).astype("<u2").view(np.uint8)
    if kind == "tf32":
        return (i + np.uint32(1024) << np.uint32(13)).astype("<u4").view(np.uint8)
    return (i % 65536 // 256 if high else i % 256).astype(np.uint8)


def addresses_of(kind: str, values: np.ndarray, high: np.ndarray | None = None) -> np.ndarray:
    """Byte offsets of the elements that have these values (bits of f32, or whole numbers)."""
    if kind == "f16":
        bits = values.view(np.float32).astype(np.float16).view(np.uint16).astype(np.uint32)
        return 2 * np.where(bits < 0x8000, bits - 0x400, bits - 0x8400 + 0x7800)
    if kind == "tf32":
        return 4 * ((values >> np.uint32(13)) - np.uint32(1024))
    assert high is not None
    return values + np.uint32(256) * high


@dataclass(frozen=True)
class Layout:
    """A descriptor, the side that it describes, and whether that is MN-major."""

    side: str
    kind: str
    n: int
    transposed: bool
    start: int
    leading: int
    stride: int
    swizzle: int
    base: int

    @property
    def extent(self) -> tuple[int, int]:
        """Rows along M or N, and elements along K."""
        return (64 if self.side == "a" else self.n), 256 // BITS[self.kind]


def layouts(side: str, kind: str, n: int, transposed: bool) -> list[Layout]:
    """Offsets that programs use, then random ones.  Bytes: addresses stay below 65536."""
    seed = f"layout {side} {kind} {n} {transposed}"
    found = []
    rows = 64 if side == "a" else n
    room = (60000 if kind == "u8" else 118000) // (max(1, rows // 8) + 2) // 16
    for swizzle in SWIZZLES:
        wide = swizzle or 16
        tidy = [(0, CORE, 2 * CORE), (0, 2 * CORE, CORE), (0, 8 * wide, 8 * wide), (1024, 16, 8 * wide)]
        tidy += [(32, 16, 8 * wide), (64, 1024, 8 * wide), (96, 0, 1024), (2048 + 128, 8 * wide, 1024)]
        options = [(*t, 0) for t in tidy] + [(256, 16, 8 * wide, 2), (1024 + 3 * 128, 16, 8 * wide, 3)]
        raw = [int(x) for x in random_bits(f"{seed} {swizzle}", 24)]
        for i in range(6):
            x, y, z, base = raw[4 * i : 4 * i + 4]
            options.append((x % 128 * 16, y % room * 16, z % room * 16, base % 8 if i > 2 else 0))
        found += [
            Layout(side, kind, n, transposed, start, leading % (room * 16), stride % (room * 16), swizzle, base)
            for start, leading, stride, base in options
        ]
    return found


def layout_form(layout: Layout) -> Form:
    n = layout.n if layout.side == "b" else layout.extent[1]
    flags = (int(layout.transposed), 0) if layout.side == "a" else (0, int(layout.transposed))
    kinds = LAYOUT_KINDS[layout.kind]
    d = "f32" if kinds == "f16" else kinds
    return Form(d, layout.kind, layout.kind, n, layout.side == "b", (1, 1), flags)


def unit_matrix(kind: str, rows: int) -> np.ndarray:
    """(rows, 32) bytes: ones on the diagonal."""
    one = {"f16": 0x3C00, "tf32": 0x3F800000, "u8": 1}[kind]
    size = BITS[kind] // 8
    return packed(np.eye(rows, 32 // size, dtype=np.uint64) * U64(one), BITS[kind])


def layout_records(found: list[Layout]) -> list[Record]:
    records = []
    for layout in found:
        k = layout.extent[1]
        read = descriptor(layout.start, layout.leading, layout.stride, layout.swizzle, layout.base)
        sums = registers_of_sums(np.zeros((64, layout_form(layout).n), "<u4")).tobytes()
        for high in (0, 1) if layout.kind == "u8" else (0,):
            image = coded_image(layout.kind, high)
            a = registers_of_a(unit_matrix(layout.kind, 64)).tobytes() + bytes(512)
            if layout.side == "b":
                records.append(Record(0, read, 0, image.tobytes(), a, sums))
            else:
                unit = place_rows(unit_matrix(layout.kind, k))
                other = descriptor(IMAGE, CORE, 2 * CORE)
                records.append(Record(read, other, 0, image.tobytes() + unit.tobytes(), a, sums))
    return records


def decode_layouts(found: list[Layout], form: Form, result: bytes) -> bytes:
    """Byte offsets, 32 bits each: of layout after layout, row (M or N) after row, along K."""
    words = np.frombuffer(result, "<u4").reshape(-1, form.results, 128)
    per, parts = len(words) // len(found), []
    for i, layout in enumerate(found):
        halves = [sums_of_registers(w, form.n, False) for w in words[per * i : per * (i + 1)]]
        rows, k = layout.extent
        cut = [(h[:k].T if layout.side == "b" else h[:rows, :k]).copy() for h in halves]
        parts.append(addresses_of(layout.kind, *cut).astype("<u4").tobytes())
    return b"".join(parts)


def layout_cases() -> list[Case]:
    cases = []
    for side in "ba":
        for kind in LAYOUT_KINDS:
            for transposed in (False, True) if kind == "f16" else (False,):
                for n in (8, 64, 128, 256) if side == "b" else (64,):
                    found = layouts(side, kind, n, transposed)
                    form = layout_form(found[0])

                    def given(found: list[Layout] = found) -> bytes:
                        return packed_records(layout_records(found))

                    decode: Callable[[bytes], bytes] = partial(decode_layouts, found, form)
                    name = f"descriptor of {side} {kind} n{n}" + " transposed" * transposed
                    count = len(found) * (2 if kind == "u8" else 1)
                    cases.append(
                        Case(
                            name,
                            form.ptx(),
                            given,
                            count * 512 * form.results,
                            grid=count,
                            shared=IMAGE + 1024,
                            decode=decode,
                            keep=n <= 64,
                            about=found,
                        )
                    )
    return cases


def fault_cases() -> list[Case]:
    """Operands outside of the block's shared memory."""
    form = Form("f32", "f16", "f16", 8, True)
    cases = []
    for start in (1024, 64 * 1024, 200 * 1024, 226 * 1024, 227 * 1024, 240 * 1024, 262000):

        def given(start: int = start) -> bytes:
            made = record_of(form, make_shot(form, "far", 1))
            return packed_records([replace(made, desc_b=descriptor(start, CORE, 2 * CORE))])

        cases.append(
            Case(
                f"fault: wgmma reads at {start}",
                form.ptx(),
                given,
                512 * form.results,
                shared=4096,
                decode=lambda result: b"ran",
            )
        )
    return cases
