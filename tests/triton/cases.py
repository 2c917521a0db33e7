"""What each kernel is run on, and what NumPy says that it must give.

A case takes `put`, which brings an array to the device, and gives a launch and its results: (tensor, expected, relative
error allowed).  The same cases run on softcuda and, for their time and its mistakes, in Triton's interpreter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import kernels
import numpy as np
import triton
import triton.language as tl
import tutorials
from triton.tools.tensor_descriptor import TensorDescriptor

Put = Callable[..., Any]
Result = tuple[Any, np.ndarray, float]
Case = Callable[[Put], tuple[Callable[[], Any], list[Result]]]
CASES: dict[str, Case] = {}
FLOAT8: set[str] = set()  # that want compute capability 8.9
TYPES = {"bf16": tl.bfloat16, "fp8e4nv": tl.float8e4nv, "fp8e5": tl.float8e5}


def case(*sets: set[str]) -> Callable[[Case], Case]:
    def keep(function: Case) -> Case:
        CASES[function.__name__] = function
        for each in sets:
            each.add(function.__name__)
        return function

    return keep


def fresh(*shape: int, kind: type = np.float32) -> np.ndarray:
    return np.random.default_rng().standard_normal(shape).astype(kind)


def bf16(values: np.ndarray) -> np.ndarray:
    """float32 to the bits of bfloat16, ties to even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def of_bf16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def blocks(n: int, size: int) -> tuple[int]:
    return (triton.cdiv(n, size),)


# --- the tutorials ----------------------------------------------------------------------------------------------------


@case()
def vector_add(put: Put) -> tuple[Callable, list[Result]]:
    x, y = fresh(2, 98_432)
    X, Y, out = put(x), put(y), put(np.full_like(x, np.nan))
    return lambda: tutorials.add[blocks(x.size, 1024)](X, Y, out, x.size, BLOCK=1024), [(out, x + y, 0)]


@case()
def fused_softmax(put: Put) -> tuple[Callable, list[Result]]:
    x = fresh(61, 781)
    X, out = put(x), put(np.full_like(x, np.nan))
    raised = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    want = raised / raised.sum(1, keepdims=True)
    return lambda: tutorials.softmax[(16,)](X, out, *x.shape, BLOCK=1024), [(out, want, 1e-6)]


@case()
def matrix_product(put: Put) -> tuple[Callable, list[Result]]:
    a, b = fresh(190, 160, kind=np.float16), fresh(160, 200, kind=np.float16)
    A, B, C = put(a), put(b), put(np.full((190, 200), np.nan, np.float16))
    want = a.astype(np.float64) @ b.astype(np.float64)
    want = np.where(want >= 0, want, 0.01 * want)
    tiles = {"BM": 64, "BN": 64, "BK": 32, "GROUP": 2}
    grid = (triton.cdiv(190, 64) * triton.cdiv(200, 64),)
    return lambda: tutorials.matmul[grid](A, B, C, 190, 200, 160, **tiles, ACTIVATION=tutorials.leaky_relu), [
        (C, want, 2e-3)
    ]


def philox(seed: int, offsets: np.ndarray) -> np.ndarray:
    """The first of four 32-bit numbers of Philox-4x32-10 with counter (offset, 0, 0, 0) and key (seed, 0)."""
    counter = [offsets.astype(np.uint64), *(np.zeros_like(offsets, np.uint64) for _ in range(3))]
    low, high = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        first, third = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [third >> 32 ^ counter[1] ^ low, third & 0xFFFFFFFF, first >> 32 ^ counter[3] ^ high,
                   first & 0xFFFFFFFF]  # fmt: skip
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return counter[0].astype(np.uint32)


@case()
def seeded_dropout(put: Put) -> tuple[Callable, list[Result]]:
    x, seed, p = fresh(10_000), 123, 0.25
    X, out = put(x), put(np.full_like(x, np.nan))
    bits = philox(seed, np.arange(x.size, dtype=np.uint32)).view(np.int32)
    uniform = np.where(bits < 0, -bits - 1, bits).astype(np.float32) * np.float32(4.6566127342e-10)
    want = np.where(uniform > np.float32(p), x / np.float32(1 - p), 0)
    return lambda: tutorials.dropout[blocks(x.size, 1024)](X, out, x.size, p, seed, BLOCK=1024), [(out, want, 1e-6)]


def normalised(x: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    exact = x.astype(np.float64)
    mean = exact.mean(1)
    inverse = 1 / np.sqrt(exact.var(1) + epsilon)
    return (exact - mean[:, None]) * inverse[:, None], mean, inverse


@case()
def layer_norm(put: Put) -> tuple[Callable, list[Result]]:
    x, weight, bias, epsilon = fresh(40, 300), fresh(300), fresh(300), 1e-5
    normal, mean, inverse = normalised(x, epsilon)
    X, W, B, out = put(x), put(weight), put(bias), put(np.full_like(x, np.nan))
    means, inverses = (put(np.full(40, np.nan, np.float32)) for _ in range(2))
    results = [(out, normal * weight + bias, 1e-5), (means, mean, 1e-5), (inverses, inverse, 1e-5)]
    return lambda: tutorials.layer_norm[(40,)](X, W, B, out, means, inverses, 300, epsilon, BLOCK=512), results


@case()
def layer_norm_backward(put: Put) -> tuple[Callable, list[Result]]:
    x, dy, weight, epsilon, groups = fresh(24, 200), fresh(24, 200), fresh(200), 1e-5, 4
    normal, mean, inverse = normalised(x, epsilon)
    scaled = dy * weight.astype(np.float64)
    along, total = (normal * scaled).mean(1, keepdims=True), scaled.mean(1, keepdims=True)
    rows = [np.arange(24) % groups == group for group in range(groups)]
    dx = put(np.full_like(x, np.nan))
    dweight, dbias = (put(np.full((groups, 200), np.nan, np.float32)) for _ in range(2))
    inputs = [put(dy), put(x), put(weight), put(mean.astype(np.float32)), put(inverse.astype(np.float32))]
    locks = put(np.zeros(2 * groups, np.int32))
    results = [
        (dx, (scaled - (normal * along + total)) * inverse[:, None], 1e-5),
        (dweight, np.stack([(dy * normal)[of].sum(0) for of in rows]), 1e-5),
        (dbias, np.stack([dy[of].astype(np.float64).sum(0) for of in rows]), 1e-5),
    ]
    return lambda: tutorials.layer_norm_backward[(24,)](
        *inputs, dx, dweight, dbias, locks, 200, GROUPS=groups, BLOCK=256
    ), results


@case()
def fused_attention(put: Put) -> tuple[Callable, list[Result]]:
    heads, length, head = 2, 128, 32
    q, k, v = fresh(3, heads, length, head, kind=np.float16)
    Q, K, V, out = put(q), put(k), put(v), put(np.full_like(q, np.nan))
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / math.sqrt(head)
    scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = weights / weights.sum(-1, keepdims=True) @ v.astype(np.float64)
    grid = (length // 64, heads)
    return lambda: tutorials.attention[grid](Q, K, V, out, length, 1 / math.sqrt(head), HEAD=head, BM=64, BN=32), [
        (out, want, 4e-3)
    ]


# --- others -----------------------------------------------------------------------------------------------------------


@case()
def scale_and_add(put: Put) -> tuple[Callable, list[Result]]:
    x, y = np.random.default_rng().integers(-1000, 1000, (2, 5000)).astype(np.float64)
    X, Y, out = put(x), put(y), put(np.full_like(x, np.nan))
    return lambda: kernels.scale_and_add[blocks(5000, 512)](X, Y, out, 3.0, 5000, BLOCK=512), [(out, 3 * x + y, 0)]


@case()
def bfloat16_rounding(put: Put) -> tuple[Callable, list[Result]]:
    """Ties to even, up to the next power of two, to infinity, and denormals."""
    x = np.random.default_rng().integers(0, 2**32, 6000, dtype=np.uint32).view(np.float32)
    x = np.where(np.isnan(x), np.float32(1), x)
    x[:6] = np.array([0x3F808000, 0x3F818000, 0x3FFFFFFF, 0x7F7FFFFF, 0x00008000, 0x80018001], np.uint32).view(
        np.float32
    )
    X, out = put(x), put(np.full(6000, 0x7FC0, np.uint16), "bf16")
    return lambda: kernels.round_to[blocks(6000, 1024)](X, out, 6000, BLOCK=1024), [(out, bf16(x), 0)]


@case()
def bfloat16_sum(put: Put) -> tuple[Callable, list[Result]]:
    """A sum of two is rounded once."""
    x, y = bf16(fresh(5000)), bf16(fresh(5000))
    X, Y, out = put(x, "bf16"), put(y, "bf16"), put(np.full(5000, 0x7FC0, np.uint16), "bf16")
    want = bf16(of_bf16(x) + of_bf16(y))
    return lambda: tutorials.add[blocks(5000, 1024)](X, Y, out, 5000, BLOCK=1024), [(out, want, 0)]


@case()
def transpose(put: Put) -> tuple[Callable, list[Result]]:
    x = fresh(130, 75)
    X, out = put(x), put(np.full((75, 130), np.nan, np.float32))
    grid = (triton.cdiv(130, 32), triton.cdiv(75, 32))
    return lambda: kernels.transpose[grid](X, out, 130, 75, BLOCK=32), [(out, x.T, 0)]


@case()
def total(put: Put) -> tuple[Callable, list[Result]]:
    x = np.random.default_rng().integers(-(2**31), 2**31, 50_000).astype(np.int64)
    X, out = put(x), put(np.zeros(1, np.int64))
    return lambda: kernels.total[blocks(x.size, 2048)](X, out, x.size, BLOCK=2048), [(out, x.sum(keepdims=True), 0)]


@case()
def largest(put: Put) -> tuple[Callable, list[Result]]:
    x = fresh(50, 700)
    x[:, 300] = x[:, 200] = 9  # the first of equals
    X, values, places = put(x), put(np.zeros(50, np.float32)), put(np.full(50, -1, np.int32))
    results = [(values, x.max(1), 0), (places, x.argmax(1).astype(np.int32), 0)]
    return lambda: kernels.largest[(50,)](X, values, places, 700, BLOCK=1024), results


@case()
def running_sum(put: Put) -> tuple[Callable, list[Result]]:
    x = np.random.default_rng().integers(-1000, 1000, (8, 1024)).astype(np.int32)
    X, out = put(x), put(np.zeros_like(x))
    return lambda: kernels.running_sum[(8,)](X, out, BLOCK=1024), [(out, x.cumsum(1).astype(np.int32), 0)]


@case()
def recurrence(put: Put) -> tuple[Callable, list[Result]]:
    decay, value = np.random.default_rng().random((2, 6, 512)).astype(np.float32)
    D, V, out = put(decay), put(value), put(np.full_like(value, np.nan))
    want, state = np.empty((6, 512)), np.zeros(6)
    for i in range(512):
        want[:, i] = state = state * decay[:, i].astype(np.float64) + value[:, i]
    return lambda: kernels.recurrence[(6,)](D, V, out, BLOCK=512), [(out, want, 1e-5)]


@case()
def histogram(put: Put) -> tuple[Callable, list[Result]]:
    x = np.random.default_rng().integers(0, 64, 20_000).astype(np.int32)
    X, out = put(x), put(np.zeros(64, np.int32))
    want = np.bincount(x, minlength=64).astype(np.int32)
    return lambda: kernels.histogram[blocks(x.size, 1024)](X, out, x.size, BINS=64, BLOCK=1024), [(out, want, 0)]


@case()
def gather_rows(put: Put) -> tuple[Callable, list[Result]]:
    table = fresh(100, 90, kind=np.float16)
    places = np.random.default_rng().integers(0, 100, 64)
    T, P, out = put(table), put(places), put(np.full((64, 90), np.nan, np.float16))
    return lambda: kernels.gather_rows[(64,)](T, P, out, 90, BLOCK=128), [(out, table[places], 0)]


@case()
def gelu(put: Put) -> tuple[Callable, list[Result]]:
    x = fresh(7000)
    X, out = put(x), put(np.full_like(x, np.nan))
    want = np.array([value * 0.5 * (1 + math.erf(value / math.sqrt(2))) for value in x.astype(np.float64)])
    return lambda: kernels.gelu[blocks(7000, 1024)](X, out, 7000, BLOCK=1024), [(out, want, 1e-5)]


@case()
def rms_norm(put: Put) -> tuple[Callable, list[Result]]:
    """In bfloat16; in float32 between."""
    x, weight, epsilon = bf16(fresh(30, 400)), fresh(400), 1e-6
    X, W, out = put(x, "bf16"), put(weight), put(np.zeros((30, 400), np.uint16), "bf16")
    exact = of_bf16(x).astype(np.float64)
    want = exact / np.sqrt((exact**2).mean(1, keepdims=True) + epsilon) * weight
    rounding = 1.01 * 2**-8  # once, and what float32 adds
    return lambda: kernels.rms_norm[(30,)](X, W, out, 400, epsilon, BLOCK=512), [(out, want, rounding)]


@case()
def rotate(put: Put) -> tuple[Callable, list[Result]]:
    x, angle = fresh(48, 128), fresh(48, 64)
    cosine, sine = np.cos(angle), np.sin(angle)
    X, C, S, out = put(x), put(cosine), put(sine), put(np.full_like(x, np.nan))
    first, second = x[:, :64].astype(np.float64), x[:, 64:].astype(np.float64)
    want = np.hstack([first * cosine - second * sine, second * cosine + first * sine])
    return lambda: kernels.rotate[(48,)](X, C, S, out, HALF=64), [(out, want, 1e-6)]


def dot(put: Put, a: np.ndarray, b: np.ndarray, kind: str | None, want: np.ndarray, error: float, bk: int,
        precision: str = "tf32") -> tuple[Callable, list[Result]]:  # fmt: skip
    """A tile of A times the transpose of `b`, whose arrays hold bits of type `kind` if that is named."""
    A, B, C = put(a, kind), put(b, kind), put(np.zeros(want.shape, np.int32 if want.dtype == np.int32 else np.float32))
    m, n = want.shape
    return lambda: kernels.dot[(1,)](A, B, C, a.shape[1], M=m, N=n, BK=bk, PRECISION=precision), [(C, want, error)]


@case()
def dot_int8(put: Put) -> tuple[Callable, list[Result]]:
    a, b = np.random.default_rng().integers(-128, 128, (2, 64, 128)).astype(np.int8)
    return dot(put, a, b, None, a.astype(np.int32) @ b.T.astype(np.int32), 0, 64)


@case()
def dot_bfloat16(put: Put) -> tuple[Callable, list[Result]]:
    a, b = bf16(fresh(64, 64)), bf16(fresh(32, 64))
    return dot(put, a, b, "bf16", of_bf16(a).astype(np.float64) @ of_bf16(b).T, 1e-5, 32)


@case()
def dot_tf32(put: Put) -> tuple[Callable, list[Result]]:
    """Of numbers that are TF32's: ten bits of mantissa."""
    a, b = ((fresh(64, 64).view(np.uint32) & 0xFFFFE000).view(np.float32) for _ in range(2))
    return dot(put, a, b, None, a.astype(np.float64) @ b.T, 1e-5, 32)


@case()
def dot_float32(put: Put) -> tuple[Callable, list[Result]]:
    """Without tensor cores."""
    a, b = fresh(64, 64), fresh(32, 64)
    return dot(put, a, b, None, a.astype(np.float64) @ b.T, 1e-5, 32, "ieee")


def of_fp8(bits: np.ndarray, exponent: int, bias: int) -> np.ndarray:
    """Finite floats of eight bits, by what their bits mean."""
    mantissa = 7 - exponent
    power, fraction = bits >> mantissa & (1 << exponent) - 1, bits & (1 << mantissa) - 1
    value = np.where(power, (1 + fraction / 2**mantissa) * 2.0 ** (power.astype(int) - bias),
                     fraction / 2**mantissa * 2.0 ** (1 - bias))  # fmt: skip
    return np.where(bits >> 7, -value, value)


@case(FLOAT8)
def dot_float8(put: Put) -> tuple[Callable, list[Result]]:
    a, b = np.random.default_rng().integers(0, 256, (2, 64, 64)).astype(np.uint8)
    a, b = (np.where((bits & 0x7F) >= 0x60, bits & 0x8F, bits).astype(np.uint8) for bits in (a, b))
    return dot(put, a, b, "fp8e4nv", of_fp8(a, 4, 7) @ of_fp8(b, 4, 7).T, 1e-2, 64)


@case()
def split_dot(put: Put) -> tuple[Callable, list[Result]]:
    a, b = fresh(32, 256, kind=np.float16), fresh(256, 32, kind=np.float16)
    A, B, C = put(a), put(b), put(np.zeros((32, 32), np.float32))
    want = a.astype(np.float64) @ b.astype(np.float64)
    return lambda: kernels.split_dot[(8,)](A, B, C, 256, M=32, N=32, BK=32), [(C, want, 1e-4)]


@case()
def described_product(put: Put) -> tuple[Callable, list[Result]]:
    a, b = fresh(100, 96, kind=np.float16), fresh(96, 72, kind=np.float16)
    A, B, C = put(a), put(b), put(np.full((100, 72), np.nan, np.float32))
    tiles = {"BM": 64, "BN": 32, "BK": 32}
    described = [
        TensorDescriptor(tensor, list(shape), [shape[1], 1], [tiles[name] for name in names])
        for tensor, shape, names in (
            (A, a.shape, ("BM", "BK")),
            (B, b.shape, ("BK", "BN")),
            (C, (100, 72), ("BM", "BN")),
        )
    ]
    want = a.astype(np.float64) @ b.astype(np.float64)
    return lambda: kernels.described_product[(2, 3)](*described, 96, **tiles), [(C, want, 1e-4)]


@case()
def matvec(put: Put) -> tuple[Callable, list[Result]]:
    a, x = fresh(100, 300), fresh(300)
    A, X, out = put(a), put(x), put(np.full(100, np.nan, np.float32))
    want = a.astype(np.float64) @ x
    return lambda: kernels.matvec[blocks(100, 32)](A, X, out, 100, 300, BM=32, BN=128), [(out, want, 1e-5)]


@case()
def blur(put: Put) -> tuple[Callable, list[Result]]:
    x = fresh(9000)
    X, out = put(x), put(np.full_like(x, np.nan))
    want = np.convolve(x.astype(np.float64), [0.25, 0.5, 0.25], "same")
    return lambda: kernels.blur[blocks(9000, 1024)](X, out, 9000, BLOCK=1024), [(out, want, 1e-6)]


@case()
def sort_rows(put: Put) -> tuple[Callable, list[Result]]:
    x = fresh(6, 256)
    X, out = put(x), put(np.full_like(x, np.nan))
    return lambda: kernels.sort_rows[(6,)](X, out, BLOCK=256), [(out, np.sort(x, 1), 0)]


@case()
def cross_entropy(put: Put) -> tuple[Callable, list[Result]]:
    x, labels = fresh(50, 1000), np.random.default_rng().integers(0, 1000, 50)
    X, L, out = put(x), put(labels), put(np.full(50, np.nan, np.float32))
    want = np.log(np.exp(x.astype(np.float64)).sum(1)) - x[np.arange(50), labels]
    return lambda: kernels.cross_entropy[(50,)](X, L, out, 1000, BLOCK=1024), [(out, want, 1e-5)]


@case()
def quantise(put: Put) -> tuple[Callable, list[Result]]:
    x = fresh(40, 500)
    x[:, 0] = 127 / 16  # so that the scale is a power of two, and every step exact
    x = np.clip(x, -7, 127 / 16)
    X, out, scales = put(x), put(np.zeros((40, 500), np.int8)), put(np.zeros(40, np.float32))
    results = [(out, np.floor(x * 16 + 0.5).astype(np.int8), 0), (scales, np.full(40, 1 / 16, np.float32), 0)]
    return lambda: kernels.quantise[(40,)](X, out, scales, 500, BLOCK=512), results


@case()
def iterations(put: Put) -> tuple[Callable, list[Result]]:
    # Far from the edge of the set, where rounding would decide.
    radius, angle = np.random.default_rng().random((2, 2000))
    inner = np.arange(2000) % 2
    a, b = ((np.where(inner, 0.2 * radius, 0.9 + radius)) * turn(6.283 * angle) for turn in (np.cos, np.sin))
    a, b = a.astype(np.float32), b.astype(np.float32)
    x = y = np.zeros(2000)
    want = np.zeros(2000, np.int32)
    for _ in range(20):
        inside = x * x + y * y < 4
        x, y = np.where(inside, x * x - y * y + a, x), np.where(inside, 2 * x * y + b, y)
        want += inside
    A, B, out = put(a), put(b), put(np.full(2000, -1, np.int32))
    return lambda: kernels.iterations[blocks(2000, 256)](A, B, out, 2000, MOST=20, BLOCK=256), [(out, want, 0)]


@case()
def mix_bits(put: Put) -> tuple[Callable, list[Result]]:
    x = np.random.default_rng().integers(0, 2**32, 8000, dtype=np.uint32)
    X, out = put(x), put(np.zeros_like(x))
    want = (x ^ x >> 16) * np.uint32(0x7FEB352D)
    want = (want ^ want >> 15) * np.uint32(0x846CA68B)
    want = want ^ want >> 16 ^ (want.astype(np.uint64) ** 2 >> np.uint64(32)).astype(np.uint32)
    return lambda: kernels.mix_bits[blocks(8000, 1024)](X, out, 8000, BLOCK=1024), [(out, want, 0)]


def wrong(name: str, got: np.ndarray, want: np.ndarray, error: float) -> Iterator[str]:
    """What is wrong with a result: nothing, or one line.  An error of 0 asks for the same bits."""
    if got.shape != want.shape:
        yield f"{name}: shape {got.shape}, not {want.shape}"
    elif error == 0:
        if bad := np.count_nonzero(got != want.astype(got.dtype)):
            first = np.argmax((got != want).ravel())
            yield f"{name}: {bad} of {got.size} elements differ, the first {got.flat[first]}, not {want.flat[first]}"
    else:
        got = of_bf16(got) if got.dtype == np.uint16 else got
        apart = np.abs(got.astype(np.float64) - want) / np.maximum(np.abs(want), np.sqrt(np.mean(want**2)))
        if not apart.max() <= error:
            yield f"{name}: relative error {apart.max():.3g}, allowed {error:g}"
