# ruff: noqa: E501  (CUDA C++ in strings, and tables)
"""Arithmetic in whole programs: half precision, mathematical functions, tensor cores; each against NumPy."""

from __future__ import annotations

import math
import random

import numpy as np
import pycuda.driver as cuda
import pytest

# Largest errors in ulp that the CUDA programming guide states, for float and for double.
FUNCTIONS = {
    "sin": (2, 2), "cos": (2, 2), "tan": (4, 2), "exp": (2, 1), "exp2": (2, 1), "expm1": (1, 1), "log": (1, 1), "log2": (1, 1),
    "log10": (2, 1), "log1p": (1, 1), "sinh": (3, 2), "cosh": (2, 1), "tanh": (2, 1), "asin": (2, 2), "acos": (2, 2), "atan": (2, 2),
    "asinh": (3, 3), "acosh": (4, 3), "atanh": (3, 2), "erf": (2, 2), "erfc": (4, 5), "tgamma": (5, 10), "lgamma": (6, 4),
    "cbrt": (1, 1), "sqrt": (0, 0), "rsqrt": (2, 1),
}  # fmt: skip
BETWEEN = {
    "log": (1e-30, 1e30), "log2": (1e-3, 1e3), "log10": (1e-9, 1e9), "asin": (-1, 1), "acos": (-1, 1), "atanh": (-0.99, 0.99),
    "acosh": (1, 1e4), "tgamma": (0.1, 30), "lgamma": (4, 1000), "erfc": (-3, 5), "sqrt": (0, 1e9), "rsqrt": (1e-3, 1e9),
    "log1p": (-0.9, 10), "sin": (-1e5, 1e5), "cos": (-1e5, 1e5), "tan": (-100, 100), "sinh": (-20, 20), "cosh": (-20, 20),
    "cbrt": (-1e9, 1e9),
}  # fmt: skip


def exact(name: str, x: float) -> float:
    if name == "rsqrt":
        return float(1 / np.sqrt(np.longdouble(x)))
    if name in ("erf", "erfc", "lgamma"):
        return getattr(math, name)(x)
    if name == "tgamma":
        return math.gamma(x)
    return float(getattr(np, {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
                              "atanh": "arctanh"}.get(name, name))(np.longdouble(x)))  # fmt: skip


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_mathematical_functions(compile, kind: type) -> None:
    ctype, suffix = ("float", "f") if kind is np.float32 else ("double", "")
    module = compile(
        "\n".join(
            f'extern "C" __global__ void {name}_({ctype} *a) {{ int i = blockIdx.x * 256 + threadIdx.x; a[i] = {name}{suffix}(a[i]); }}'
            for name in FUNCTIONS
        )
    )
    rng = np.random.default_rng(3)
    worst = []
    for name, bounds in FUNCTIONS.items():
        low, high = BETWEEN.get(name, (-10, 10))
        x = rng.uniform(low, high, 2048).astype(kind)
        got = x.copy()
        module.get_function(f"{name}_")(cuda.InOut(got), block=(256, 1, 1), grid=(8, 1))
        want = np.array([exact(name, float(v)) for v in x])
        error = np.abs(got.astype(np.longdouble) - want) / np.spacing(np.abs(want.astype(kind))).astype(np.longdouble)
        # The reference of a double is itself half a unit off, a library's erfc and gamma a few.
        slack = 0.5 if kind is np.float32 else 6 if name in ("tgamma", "lgamma", "erfc") else 1
        if not error.max() <= bounds[kind is np.float64] + slack:
            worst.append(f"{name}: {error.max():.2f} ulp at {x[error.argmax()]!r}")
    assert not worst


def test_corners_of_functions(compile) -> None:
    kernel = compile(
        """
        extern "C" __global__ void corners(const double *x, double *out, int n)
        {
            int i = threadIdx.x; double v = x[i];
            double r[] = {sqrt(v), exp(v), log(v), pow(v, 3.0), pow(2.0, v), fmod(v, 3.0), remainder(v, 3.0), atan2(v, -1.0), hypot(v, 2.0), trunc(v), round(v)};
            for (int k = 0; k < 11; k++) out[k * n + i] = r[k];
        }
        """
    ).get_function("corners")
    x = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, 2.5, -2.5, 1e300, 1e-310, -700, 710])
    out = np.zeros((11, x.size))
    kernel(cuda.In(x), cuda.Out(out), np.int32(x.size), block=(x.size, 1, 1))
    with np.errstate(all="ignore"):
        want = [np.sqrt(x), np.exp(x), np.log(x), x**3, 2**x, np.fmod(x, 3), np.array([math.remainder(v, 3) if np.isfinite(v) else np.nan for v in x]),
                np.arctan2(x, -1), np.hypot(x, 2), np.trunc(x), np.copysign(np.floor(np.abs(x) + 0.5), x)]  # fmt: skip
    for got, right in zip(out, want, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-15)
        zero = right == 0
        assert (np.signbit(got) == np.signbit(right))[zero].all()


def test_fast_math_stays_close(compile) -> None:
    source = 'extern "C" __global__ void f(float *a) { float x = a[threadIdx.x]; a[threadIdx.x] = sinf(x) + expf(x) / (1 + x) + logf(x) + powf(x, 1.5f); }'
    x = np.random.uniform(0.1, 3, 256).astype(np.float32)
    want = (
        np.sin(x, dtype=np.float64)
        + np.exp(x, dtype=np.float64) / (1.0 + x)
        + np.log(x, dtype=np.float64)
        + x.astype(np.float64) ** 1.5
    )
    for options, tolerance in (([], 1e-6), (["--use_fast_math"], 2e-5)):
        got = x.copy()
        compile(source, *options).get_function("f")(cuda.InOut(got), block=(256, 1, 1))
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def bfloat(x: np.ndarray) -> np.ndarray:
    """float32 rounded to bfloat16, ties to even."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


def test_half_precision(compile) -> None:
    kernel = compile(
        """
        #include <cuda_fp16.h>
        #include <cuda_bf16.h>
        extern "C" __global__ void halves(const half *a, const half *b, half *out, const float *x, const float *y, float *bf, int n)
        {
            int i = threadIdx.x; half u = a[i], v = b[i];
            half r[] = {u + v, u - v, u * v, u / v, __hfma(u, v, u), hsqrt(__habs(u)), __hmax(u, v), __float2half(__half2float(u) * 1.3f),
                        __int2half_rn((int)(x[i] * 1000)), __high2half(__hmul2(__halves2half2(v, u), __halves2half2(u, u)))};
            for (int k = 0; k < 10; k++) out[k * n + i] = r[k];
            __nv_bfloat16 p = __float2bfloat16(x[i]), q = __float2bfloat16(y[i]);
            float s[] = {p + q, p * q, __hfma(p, q, p), p / q, __bfloat162float(p), float(u < v), float(p > q)};
            for (int k = 0; k < 7; k++) bf[k * n + i] = s[k];
        }
        """
    ).get_function("halves")
    n = 256
    a, b = (np.random.randn(n).astype(np.float16) * 20 for _ in range(2))
    x, y = (np.random.randn(n).astype(np.float32) * 10 for _ in range(2))
    out, bf = np.zeros((10, n), np.float16), np.zeros((7, n), np.float32)
    kernel(cuda.In(a), cuda.In(b), cuda.Out(out), cuda.In(x), cuda.In(y), cuda.Out(bf), np.int32(n), block=(n, 1, 1))
    wide, p, q = a.astype(np.float64), bfloat(x), bfloat(y)
    want = [a + b, a - b, a * b, a / b, (wide * b + wide).astype(np.float16), np.sqrt(np.abs(a)), np.maximum(a, b),
            (a.astype(np.float32) * np.float32(1.3)).astype(np.float16), (x * np.float32(1000)).astype(np.int32).astype(np.float16), a * a]  # fmt: skip
    for k, right in enumerate(want):
        if k == 3:  # a quotient by way of a reciprocal
            np.testing.assert_allclose(out[k], right, rtol=2e-3)
        else:
            np.testing.assert_array_equal(out[k], right, err_msg=str(k))
    pw, qw = p.astype(np.float64), q.astype(np.float64)
    for k, right in enumerate(
        [bfloat(p + q), bfloat(p * q), bfloat((pw * qw + pw).astype(np.float32)), bfloat(p / q), p, a < b, p > q]
    ):
        np.testing.assert_allclose(bf[k], right, rtol=8e-3 if k == 3 else 0, err_msg=str(k))


# mma.sync: where element (row, column) of a matrix lies, as (lane, register, part), from the PTX manual's figures.
def pack(matrix: np.ndarray, rows: str, per: int) -> np.ndarray:
    """Registers [lane][register] of A (16 rows by K) or of B transposed (8 columns by K); `per` elements a register."""
    k = matrix.shape[1]
    registers = []
    for lane in range(32):
        group, place = lane // 4, lane % 4
        words = []
        for chunk in range(k // (4 * per)):
            for row in (group, group + 8) if rows == "a" else (group,):
                at = chunk * 4 * per + place * per
                words.append(np.ascontiguousarray(matrix[row, at : at + per]).view(np.uint32)[0])
        registers.append(words)
    return np.array(registers, np.uint32)


@pytest.mark.parametrize(
    ("shape", "kind", "k"),
    [
        ("m16n8k16", "f16", 16),
        ("m16n8k8", "f16", 8),
        ("m16n8k16", "bf16", 16),
        ("m16n8k8", "tf32", 8),
        ("m16n8k32", "s8", 32),
    ],
)
def test_tensor_core_product(compile, shape: str, kind: str, k: int) -> None:
    per = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4}[kind]
    na, nb = 16 * k // per // 32, 8 * k // per // 32
    result, c = ("s32", "r") if kind == "s8" else ("f32", "f")
    a_list, b_list = ", ".join(f"%{4 + i}" for i in range(na)), ", ".join(f"%{4 + na + i}" for i in range(nb))
    ctype = "int" if kind == "s8" else "float"
    inputs = (
        ", ".join(f'"r"(a[lane * {na} + {i}])' for i in range(na))
        + ", "
        + ", ".join(f'"r"(b[lane * {nb} + {i}])' for i in range(nb))
    )
    kernel = compile(
        f"""
        extern "C" __global__ void product(const unsigned *a, const unsigned *b, {ctype} *c)
        {{
            int lane = threadIdx.x, group = lane / 4, place = lane % 4;
            {ctype} *top = c + group * 8 + place * 2, *low = top + 64;
            {ctype} d0 = top[0], d1 = top[1], d2 = low[0], d3 = low[1];
            asm volatile("mma.sync.aligned.{shape}.row.col.{result}.{kind}.{kind}.{result} "
                         "{{%0, %1, %2, %3}}, {{{a_list}}}, {{{b_list}}}, {{%0, %1, %2, %3}};"
                         : "+{c}"(d0), "+{c}"(d1), "+{c}"(d2), "+{c}"(d3) : {inputs});
            top[0] = d0; top[1] = d1; low[0] = d2; low[1] = d3;
        }}
        """
    ).get_function("product")
    if kind == "s8":
        A, B = (
            np.random.randint(-128, 128, (16, k)).astype(np.int8),
            np.random.randint(-128, 128, (8, k)).astype(np.int8),
        )
        C = np.random.randint(-1000, 1000, (16, 8)).astype(np.int32)
        a, b = A, B
    else:
        A, B = np.random.randn(16, k).astype(np.float32), np.random.randn(8, k).astype(np.float32)
        C = np.random.randn(16, 8).astype(np.float32)
        if kind == "f16":
            a, b = A.astype(np.float16), B.astype(np.float16)
        elif kind == "bf16":
            a, b = ((bfloat(m).view(np.uint32) >> 16).astype(np.uint16) for m in (A, B))
            A, B = bfloat(A), bfloat(B)
        else:
            a, b = (m.view(np.uint32) & np.uint32(0xFFFFE000) for m in (A, B))
            A, B = a.view(np.float32), b.view(np.float32)
        if kind == "f16":
            A, B = a, b
    got = C.copy()
    kernel(cuda.In(pack(a, "a", per)), cuda.In(pack(b, "b", per)), cuda.InOut(got), block=(32, 1, 1))
    want = A.astype(np.float64) @ B.astype(np.float64).T + C
    if kind == "s8":
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_wide_integers(compile) -> None:
    """Carry chains: 128-bit products, quotients and remainders, and the flag that sub.cc leaves."""
    kernel = compile(
        """
        typedef unsigned __int128 u128;
        extern "C" __global__ void wide(const u128 *a, u128 *out, unsigned *flags)
        {
            int i = threadIdx.x; u128 x = a[2 * i], y = a[2 * i + 1];
            u128 r[] = {x + y, x - y, x * y, x / y, x % y, (u128)((__int128)x / (__int128)y), x << (int)(y & 127), x >> (int)(y & 127)};
            for (int k = 0; k < 8; k++) out[8 * i + k] = r[k];
            unsigned p = x, q = y, borrowed;   // the carry of p + ~q + 1, as hardware has it
            asm("{.reg .u32 t; sub.cc.u32 t, %1, %2; addc.u32 %0, 0, 0;}" : "=r"(borrowed) : "r"(p), "r"(q));
            flags[i] = borrowed;
        }
        """
    ).get_function("wide")
    values = [
        (random.getrandbits(random.randint(1, 128)), random.getrandbits(random.randint(1, 128)) | 1) for _ in range(128)
    ]
    values += [(5, 5), (1 << 100, 1 << 100), ((1 << 127) + 12345, 3), (10**30, 10**10), (7, 1 << 90)]
    full, words = (1 << 128) - 1, []
    for x, y in values:
        words += [x & 0xFFFFFFFFFFFFFFFF, x >> 64, y & 0xFFFFFFFFFFFFFFFF, y >> 64]
    out, flags = np.zeros((len(values), 8, 2), np.uint64), np.zeros(len(values), np.uint32)
    kernel(cuda.In(np.array(words, np.uint64)), cuda.Out(out), cuda.Out(flags), block=(len(values), 1, 1))

    def signed(v: int) -> int:
        return v - (1 << 128) if v >> 127 else v

    for (x, y), got, flag in zip(values, out, flags, strict=True):
        quotient = abs(signed(x)) // abs(signed(y)) * (1 if (signed(x) < 0) == (signed(y) < 0) else -1)
        n = y & 127
        want = [x + y & full, x - y & full, x * y & full, x // y, x % y, quotient & full, x << n & full, x >> n]
        assert [int(w[0]) | int(w[1]) << 64 for w in got] == want, (x, y)
        assert flag == ((x & 0xFFFFFFFF) >= (y & 0xFFFFFFFF))
