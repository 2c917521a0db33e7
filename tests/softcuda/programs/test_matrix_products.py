"""mma and mma.sp against references in NumPy and in Python's whole numbers, NaN, infinities and subnormals included.

The sum of an H200's tensor cores, written out: every product and the addend are cut off, toward zero, at 2^-25 of the
largest power of two among them; their sum is cut off to f32, or rounded to f16.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np
import pycuda.driver as cuda
import pytest

FORMATS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "e4m3": (4, 3), "e5m2": (5, 2), "f32": (8, 23)}
NAN = {"f32": 0x7FFFFFFF, "f16": 0x7FFF}


def run(context, instruction: str, d: int, *operands: np.ndarray, selector: int | None = None) -> np.ndarray:
    """One warp, one instruction.  Operands are (registers, 32) words; so are the results."""
    names = "abce"
    size = operands[0].itemsize
    word = f"b{8 * size}" if size == 4 else "f64"
    loads, vectors, declared, at = [], [], [], 0
    for name, words in zip(names, operands, strict=False):
        kind = "b32" if name == "e" else word
        registers = [f"%{name}{i}" for i in range(len(words))]
        declared.append(f".reg .{kind} {', '.join(registers)};")
        loads += [f"ld.global.{kind} {r}, [%p+{at + 32 * words.itemsize * i}];" for i, r in enumerate(registers)]
        vectors.append(registers[0] if name == "e" else "{" + ", ".join(registers) + "}")
        at += words.nbytes
    results = [f"%d{i}" for i in range(d)]
    declared.append(f".reg .{word} {', '.join(results)};")
    stores = [f"st.global.{word} [%o+{32 * size * i}], {r};" for i, r in enumerate(results)]
    tail = "" if selector is None else f", {selector}"
    source = f"""
.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k0, .param .u64 k1) {{
.reg .b64 %p, %o, %w; .reg .b32 %t; {" ".join(declared)}
ld.param.u64 %p, [k0]; ld.param.u64 %o, [k1]; mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, {size};
add.u64 %p, %p, %w; add.u64 %o, %o, %w; {" ".join(loads)}
{instruction} {{{", ".join(results)}}}, {", ".join(vectors)}{tail};
{" ".join(stores)} ret; }}
"""
    given = np.concatenate([np.ascontiguousarray(o).view(np.uint8).reshape(-1) for o in operands])
    out = np.full((d, 32), 0xCD, operands[0].dtype)
    module = cuda.module_from_buffer(source.encode() + b"\0")
    module.get_function("k")(cuda.In(given), cuda.InOut(out), block=(32, 1, 1))
    return out


# --- fragments, as PTX draws them
def unpacked(words: np.ndarray, bits: int) -> np.ndarray:
    """(registers, 32) words -> (registers, 32, elements)."""
    count = max(1, 32 // bits)
    shifts = np.arange(count, dtype=np.uint32) * np.uint32(bits)
    return words[..., None] >> shifts & np.uint32((1 << bits) - 1 if bits < 32 else 0xFFFFFFFF)


def matrix_a(words: np.ndarray, bits: int, rows: int = 16) -> np.ndarray:
    parts, halves = unpacked(words, bits).reshape(len(words), 8, -1), rows // 8
    return np.vstack([np.hstack(list(parts[h::halves])) for h in range(halves)])


def matrix_b(words: np.ndarray, bits: int) -> np.ndarray:
    return np.hstack(list(unpacked(words, bits).reshape(len(words), 8, -1))).T


def matrix_c(words: np.ndarray, bits: int = 32) -> np.ndarray:
    if bits == 16:
        return unpacked(words, 16).reshape(-1, 8)
    return np.vstack([np.stack([words[i], words[i + 1]], -1).reshape(8, 8) for i in range(0, len(words), 2)])


# --- numbers
def value(bits: int, kind: str) -> tuple[int, int, float]:
    """Signed significand, in units of the last fraction place; power of two of its leading place; value."""
    exponent_bits, fraction = FORMATS[kind]
    bits = bits >> 13 if kind == "tf32" else bits
    bias, top = (1 << exponent_bits - 1) - 1, (1 << exponent_bits) - 1
    sign = -1 if bits >> exponent_bits + fraction & 1 else 1
    exponent, mantissa = bits >> fraction & top, bits & (1 << fraction) - 1
    if kind == "e4m3":
        if exponent == top and mantissa == 7:
            return 0, 0, math.nan
    elif exponent == top:
        return 0, 0, math.nan if mantissa else sign * math.inf
    significand = mantissa | (1 << fraction if exponent else 0)
    power = max(exponent, 1) - bias
    return sign * significand, power, sign * math.ldexp(significand, power - fraction)


def cut_to_f32(total: int, unit: int) -> int:
    """Bits of total * 2^unit, cut off."""
    sign, size = (1 << 31 if total < 0 else 0), abs(total)
    if not size:
        return 0
    lead = size.bit_length() - 1 + unit
    place = max(lead, -126) - 23
    mantissa = size << unit - place if unit >= place else size >> place - unit
    if lead > 127:
        return sign | 0x7F800000
    return sign | (mantissa if lead < -126 else (lead + 127 << 23) + (mantissa - (1 << 23)))


def round_to_f16(total: int, unit: int) -> int:
    size = abs(total)
    if not size:
        return 0
    lead = size.bit_length() - 1 + unit
    place = max(lead, -14) - 10
    kept = size << unit - place if unit >= place else size >> place - unit
    rest = 0 if unit >= place else size - (kept << place - unit)
    half = 0 if unit >= place else 1 << place - unit - 1
    kept += int(rest > half or (rest == half and half > 0 and kept & 1))
    number = min(math.ldexp(kept, place), math.inf)
    bits = 0x7C00 if number >= 65520 else struct.unpack("<H", struct.pack("<e", number))[0]
    return bits | (0x8000 if total < 0 else 0)


def tensor_sum(a: Sequence[int], b: Sequence[int], c: int, ka: str, kb: str, kc: str) -> int:
    """Bits of the sum of one row and one column and c, in c's type."""
    fraction = FORMATS[ka][1] + FORMATS[kb][1]
    terms, plain = [], value(c, kc)[2]
    for x, y in zip(a, b, strict=True):
        (sx, px, vx), (sy, py, vy) = value(int(x), ka), value(int(y), kb)
        plain += vx * vy if math.isfinite(vx) and math.isfinite(vy) else float(np.float64(vx) * np.float64(vy))
        terms.append((sx * sy, px + py, fraction))
    if not math.isfinite(plain):
        infinite = 0x7F800000 if kc == "f32" else 0x7C00
        return NAN[kc] if math.isnan(plain) else infinite | (0 if plain > 0 else SIGN[kc])
    significand, power, _ = value(c, kc)
    if all(s == 0 for s, _, _ in terms):
        return c  # nothing to add, and no sign to lose
    terms.append((significand, power, FORMATS[kc][1]))
    largest = max(p for s, p, _ in terms if s)
    total = 0
    for s, p, places in terms:
        shift = 25 - places - (largest - p)
        size = abs(s) << shift if shift >= 0 else abs(s) >> -shift
        total += size if s > 0 else -size
    return (cut_to_f32 if kc == "f32" else round_to_f16)(total, largest - 25)


SIGN = {"f32": 1 << 31, "f16": 1 << 15}


def random_words(random, kind: str, registers: int, style: str) -> np.ndarray:
    if style == "any":
        return random.integers(0, 2**32, (registers, 32), dtype=np.uint32)
    exponent, fraction = FORMATS[kind]
    bits = 32 if kind in ("tf32", "f32") else 1 + exponent + fraction
    bias, count = (1 << exponent - 1) - 1, 32 // bits
    spread = min(bias - 1, 3 if style == "close" else 12)
    shape = (registers, 32, count)
    power = random.integers(bias - spread, bias + spread + 1, shape, dtype=np.uint64)
    sign = random.integers(0, 2, shape, dtype=np.uint64)
    words = random.integers(0, 1 << fraction, shape, dtype=np.uint64) | power << np.uint64(fraction)
    words |= sign << np.uint64(exponent + fraction)
    words = words << np.uint64(13) if kind == "tf32" else words
    return (words << np.arange(count, dtype=np.uint64) * np.uint64(bits)).sum(-1).astype(np.uint32)


@pytest.mark.parametrize("style", ["close", "far", "any"])
@pytest.mark.parametrize(
    ("shape", "kind", "sums", "a", "b"),
    [
        ("m16n8k8", "f16", "f32", 2, 1),
        ("m16n8k16", "f16", "f32", 4, 2),
        ("m16n8k16", "f16", "f16", 4, 2),
        ("m16n8k16", "bf16", "f32", 4, 2),
        ("m16n8k8", "tf32", "f32", 4, 2),
    ],
)
def test_floats_are_summed_as_tensor_cores_do(context, shape, kind, sums, a, b, style):
    random = np.random.default_rng(len(kind) + a)
    bits = 32 if kind == "tf32" else 16
    c = 4 if sums == "f32" else 2
    words = [random_words(random, k, n, style) for k, n in ((kind, a), (kind, b), (sums, c))]
    got = matrix_c(run(context, f"mma.sync.aligned.{shape}.row.col.{sums}.{kind}.{kind}.{sums}", c, *words), 8 * c)
    left, right, addend = matrix_a(words[0], bits), matrix_b(words[1], bits), matrix_c(words[2], 8 * c)
    for i in range(16):
        for j in range(8):
            want = tensor_sum(left[i], right[:, j], int(addend[i, j]), kind, kind, sums)
            assert int(got[i, j]) == want, f"row {i}, column {j}: {int(got[i, j]):#x}, not {want:#x}"


@pytest.mark.parametrize(("ka", "kb"), [("e4m3", "e4m3"), ("e5m2", "e4m3")])
def test_eight_bit_floats_are_summed_in_two_halves(context, ka, kb):
    """Columns 0 and 1 of every four, then 2 and 3, and at last the addend, rounded to nearest."""
    random = np.random.default_rng(8)
    words = [random_words(random, k, n, "far") for k, n in ((ka, 4), (kb, 2), ("f32", 4))]
    got = matrix_c(run(context, f"mma.sync.aligned.m16n8k32.row.col.f32.{ka}.{kb}.f32", 4, *words))
    left, right, addend = matrix_a(words[0], 8), matrix_b(words[1], 8), matrix_c(words[2]).view(np.float32)
    first = np.arange(32) % 4 < 2
    for i in range(16):
        for j in range(8):
            half = tensor_sum(left[i][first], right[first, j], 0, ka, kb, "f32")
            both = tensor_sum(left[i][~first], right[~first, j], half, ka, kb, "f32")
            want = np.uint32(both).view(np.float32) + addend[i, j]
            assert np.uint32(got[i, j]).view(np.float32) == want


def integers(words: np.ndarray, kind: str) -> np.ndarray:
    bits, values = int(kind[1:]), words.astype(np.int64)
    return np.where(values >> bits - 1, values - (1 << bits), values) if kind[0] == "s" else values


@pytest.mark.parametrize("saturate", ["", ".satfinite"])
@pytest.mark.parametrize(
    ("shape", "ka", "kb", "a", "b", "c"),
    [
        ("m8n8k16", "s8", "u8", 1, 1, 2),
        ("m16n8k32", "u8", "s8", 4, 2, 4),
        ("m8n8k32", "s4", "s4", 1, 1, 2),
        ("m16n8k32", "u4", "s4", 2, 1, 4),
        ("m16n8k64", "s4", "u4", 4, 2, 4),
    ],
)
def test_integers_are_exact(context, shape, ka, kb, a, b, c, saturate):
    random = np.random.default_rng(a + b)
    words = [random.integers(0, 2**32, (n, 32), dtype=np.uint32) for n in (a, b, c)]
    words[2][:, ::3] = 2**31 - 5  # near the end, so that some saturate
    bits, rows = int(ka[1:]), 4 * c
    got = run(context, f"mma.sync.aligned.{shape}.row.col{saturate}.s32.{ka}.{kb}.s32", c, *words)
    left, right = integers(matrix_a(words[0], bits, rows), ka), integers(matrix_b(words[1], bits), kb)
    want = left @ right + integers(matrix_c(words[2]), "s32")
    want = np.clip(want, -(2**31), 2**31 - 1) if saturate else want
    assert np.array_equal(matrix_c(got), want.astype(np.uint32))


@pytest.mark.parametrize("operation", ["xor", "and"])
@pytest.mark.parametrize(
    ("shape", "a", "b", "c"), [("m8n8k128", 1, 1, 2), ("m16n8k128", 2, 1, 4), ("m16n8k256", 4, 2, 4)]
)
def test_bits_are_counted(context, shape, a, b, c, operation):
    random = np.random.default_rng(a)
    words = [random.integers(0, 2**32, (n, 32), dtype=np.uint32) for n in (a, b, c)]
    got = run(context, f"mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.{operation}.popc", c, *words)
    left, right = matrix_a(words[0], 1, 4 * c)[:, :, None], matrix_b(words[1], 1)[None]
    pairs = left ^ right if operation == "xor" else left & right
    assert np.array_equal(matrix_c(got), matrix_c(words[2]) + pairs.sum(axis=1, dtype=np.uint32))


@pytest.mark.parametrize(
    ("shape", "a", "b", "c"), [("m8n8k4", 1, 1, 2), ("m16n8k4", 2, 1, 4), ("m16n8k8", 4, 2, 4), ("m16n8k16", 8, 4, 4)]
)
def test_doubles_are_a_chain_of_fused_products(context, shape, a, b, c):
    random = np.random.default_rng(64)
    words = [random.uniform(-1, 1, (n, 32)) for n in (a, b, c)]
    got = matrix_c(run(context, f"mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64", c, *words))
    parts, halves = words[0].reshape(a, 8, 4), c // 2
    left = np.vstack([np.hstack(list(parts[h::halves])) for h in range(halves)])
    right = np.hstack(list(words[1].reshape(b, 8, 4))).T
    want = matrix_c(words[2]).astype(np.longdouble)
    for k in range(left.shape[1]):  # 64 bits hold what a fused product rounds, but for a tie in 2^11
        want = (left[:, k, None].astype(np.longdouble) * right[k] + want).astype(np.float64).astype(np.longdouble)
    assert np.abs(got - want.astype(np.float64)).max() <= 2.0**-52
    assert (got == want.astype(np.float64)).mean() > 0.95


@pytest.mark.parametrize("selector", [0, 1])
@pytest.mark.parametrize(
    ("shape", "kind", "a", "b", "bits"), [("m16n8k32", "s8", 2, 2, 8), ("m16n8k32", "f16", 4, 4, 16)]
)
def test_a_sparse_matrix_meets_the_rows_that_its_indices_name(context, shape, kind, a, b, bits, selector):
    """Two of four.  Of each four lanes, 2 * selector and the next hold the indices.  8-bit elements: the first has row
    g's, the second row g + 8's; 16-bit ones: each has 16 bits of row g, and above them 16 of row g + 8."""
    random = np.random.default_rng(selector)
    indices = random.choice([0x4, 0x8, 0xC, 0x9, 0xD, 0xE], (32, 8))
    packed = (indices.astype(np.uint64) << np.arange(8, dtype=np.uint64) * np.uint64(4)).sum(-1).astype(np.uint32)[None]
    if kind == "s8":
        words = [random.integers(0, 2**32, (n, 32), dtype=np.uint32) for n in (a, b, 4)]
        left, right = integers(matrix_a(words[0], 8), "s8"), integers(matrix_b(words[1], 8), "s8")
        sums = "s32"
    else:
        small = [random.integers(-4, 5, (n, 32, 2)).astype(np.float16) for n in (a, b)]
        words = [x.view(np.uint32)[..., 0] for x in small] + [random.integers(-9, 9, (4, 32)).astype(np.float32)]
        words[2] = words[2].view(np.uint32)
        left, right = (m.astype(np.uint16).view(np.float16) for m in (matrix_a(words[0], 16), matrix_b(words[1], 16)))
        sums = "f32"
    got = matrix_c(
        run(context, f"mma.sp::ordered_metadata.sync.aligned.{shape}.row.col.{sums}.{kind}.{kind}.{sums}", 4, *words,
            packed, selector=selector)
    )  # fmt: skip
    dense = np.zeros((16, 32))
    for row in range(16):
        pair = indices[4 * (row % 8) + 2 * selector :][:2]
        own = pair[row // 8] if bits == 8 else pair.reshape(2, 2, 4)[:, row // 8].reshape(-1)
        for n, index in enumerate(own):
            dense[row, 4 * n + (index & 3)], dense[row, 4 * n + (index >> 2)] = left[row, 2 * n : 2 * n + 2]
    addend = matrix_c(words[2]).view(np.int32 if kind == "s8" else np.float32)
    want = dense @ right.astype(np.float64) + addend
    if kind == "s8":
        assert np.array_equal(got, want.astype(np.int64).astype(np.uint32))
    else:
        assert np.array_equal(got.view(np.float32), want.astype(np.float32))


@pytest.mark.parametrize(
    "instruction",
    [
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e4m3.f32",
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32",
        "mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16",
    ],
)
def test_what_is_not_supported_is_refused_by_name(context, instruction):
    operands = [np.zeros((n, 32), np.uint32) for n in (4, 2, 4)]
    with pytest.raises(cuda.Error, match=instruction.split(".")[0]):
        run(context, instruction, 4, *operands)


def test_movmatrix_transposes(context):
    words = np.random.default_rng(2).integers(0, 2**32, 32, dtype=np.uint32)
    source = """
.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k0) {
.reg .b64 %p; .reg .b32 %t, %a;
ld.param.u64 %p, [k0]; mov.u32 %t, %tid.x; mad.wide.u32 %p, %t, 4, %p; ld.global.b32 %a, [%p];
movmatrix.sync.aligned.m8n8.trans.b16 %a, %a;
st.global.b32 [%p], %a; ret; }
"""
    got = words.copy()
    cuda.module_from_buffer(source.encode() + b"\0").get_function("k")(cuda.InOut(got), block=(32, 1, 1))
    assert np.array_equal(got.view(np.uint16).reshape(8, 8), words.view(np.uint16).reshape(8, 8).T)
