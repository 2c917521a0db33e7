"""nvcuda::wmma as CUDA's guide shows it: fragments are filled, loaded, multiplied, walked through and stored."""

from __future__ import annotations

import numpy as np
import pycuda.driver as cuda
import pytest

SOURCE = r"""
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;

// D = A * B + C for one warp; A is M x K, B is K x N, each with a leading dimension of its own.
template <int M, int N, int K, class T, class LayoutA, class LayoutB, class Sum, class Stored>
__device__ void product(const Stored *a, unsigned lda, const Stored *b, unsigned ldb, const Sum *c, Sum *d,
                        unsigned ldc, wmma::layout_t layout) {
    wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> fc;
    wmma::load_matrix_sync(fa, a, lda);
    wmma::load_matrix_sync(fb, b, ldb);
    wmma::load_matrix_sync(fc, c, ldc, layout);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(d, fc, ldc, layout);
}
#define PRODUCT(name, M, N, K, T, la, lb, Sum, Stored)                                               \
    extern "C" __global__ void name##_##la##_##lb(const Stored *a, unsigned lda, const Stored *b,    \
                                                  unsigned ldb, const Sum *c, Sum *d, unsigned ldc,  \
                                                  int by_row) {                                      \
        product<M, N, K, T, wmma::la##_major, wmma::lb##_major>(                                     \
            a, lda, b, ldb, c, d, ldc, by_row ? wmma::mem_row_major : wmma::mem_col_major);          \
    }
#define LAYOUTS(name, M, N, K, T, Sum, Stored)                                                       \
    PRODUCT(name, M, N, K, T, row, row, Sum, Stored) PRODUCT(name, M, N, K, T, row, col, Sum, Stored) \
    PRODUCT(name, M, N, K, T, col, row, Sum, Stored) PRODUCT(name, M, N, K, T, col, col, Sum, Stored)
#define SHAPES(name, T, Sum, Stored)                                                                 \
    LAYOUTS(name##_16_16_16, 16, 16, 16, T, Sum, Stored)                                             \
    LAYOUTS(name##_32_8_16, 32, 8, 16, T, Sum, Stored)                                               \
    LAYOUTS(name##_8_32_16, 8, 32, 16, T, Sum, Stored)
SHAPES(half_float, half, float, half)
SHAPES(half_half, half, half, half)
SHAPES(bfloat, __nv_bfloat16, float, __nv_bfloat16)
SHAPES(schar, signed char, int, signed char)
SHAPES(uchar, unsigned char, int, unsigned char)
LAYOUTS(tf32_16_16_8, 16, 16, 8, wmma::precision::tf32, float, float)
LAYOUTS(double_8_8_4, 8, 8, 4, double, double, double)
PRODUCT(s4_8_8_32, 8, 8, 32, wmma::experimental::precision::s4, row, col, int, int)
PRODUCT(u4_8_8_32, 8, 8, 32, wmma::experimental::precision::u4, row, col, int, int)

extern "C" __global__ void bits(const unsigned *a, const unsigned *b, int *d, int exclusive) {
    wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::experimental::precision::b1, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> fc;
    wmma::fill_fragment(fc, 1000);
    wmma::load_matrix_sync(fa, a, 128);
    wmma::load_matrix_sync(fb, b, 128);
    if (exclusive) wmma::bmma_sync(fc, fa, fb, fc, wmma::experimental::bmmaBitOpXOR);
    else wmma::bmma_sync(fc, fa, fb, fc, wmma::experimental::bmmaBitOpAND);
    wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
}

// alpha * A * B + beta * C by 16 x 16 tiles staged in shared memory, with a skewed leading dimension.
extern "C" __global__ void gemm(const half *a, const half *b, const float *c, float *d, int n, float alpha,
                                float beta) {
    constexpr int skew = 16 + 8;
    __shared__ __align__(32) half tile_a[16 * skew], tile_b[16 * skew];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum, add;
    wmma::fill_fragment(sum, 0.0f);
    const int row = blockIdx.y * 16, column = blockIdx.x * 16;
    for (int k = 0; k < n; k += 16) {
        for (int i = threadIdx.x; i < 256; i += 32) {
            tile_a[i / 16 * skew + i % 16] = a[(row + i / 16) * n + k + i % 16];
            tile_b[i / 16 * skew + i % 16] = b[(k + i / 16) * n + column + i % 16];
        }
        __syncwarp();
        wmma::load_matrix_sync(fa, tile_a, skew);
        wmma::load_matrix_sync(fb, tile_b, skew);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncwarp();
    }
    wmma::load_matrix_sync(add, c + row * n + column, n, wmma::mem_row_major);
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = alpha * sum.x[i] + beta * add.x[i];
    wmma::store_matrix_sync(d + row * n + column, sum, n, wmma::mem_row_major);
}

// Which element each lane holds, seen through fragment::x.
extern "C" __global__ void fragments(const half *a, const float *c, half *xa, float *xc) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major);
    for (int i = 0; i < fa.num_elements; ++i) xa[fa.num_elements * threadIdx.x + i] = fa.x[i];
    for (int i = 0; i < fc.num_elements; ++i) xc[fc.num_elements * threadIdx.x + i] = fc.x[i];
}
// Sums of one type from addends of the other.
template <class From, class To>
__device__ void converted(const half *a, const half *b, const From *c, To *d) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, From> fc;
    wmma::fragment<wmma::accumulator, 16, 16, 16, To> fd;
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major);
    wmma::mma_sync(fd, fa, fb, fc);
    wmma::store_matrix_sync(d, fd, 16, wmma::mem_row_major);
}
extern "C" __global__ void narrowed(const half *a, const half *b, const float *c, half *d) { converted(a, b, c, d); }
extern "C" __global__ void widened(const half *a, const half *b, const half *c, float *d) { converted(a, b, c, d); }
extern "C" __global__ void saturated(const signed char *a, const signed char *b, const int *c, int *d) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> fc;
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major);
    wmma::mma_sync(fc, fa, fb, fc, true);
    wmma::store_matrix_sync(d, fc, 16, wmma::mem_row_major);
}
"""

BF16 = "bf16"  # NumPy has none: whole numbers below 256 are its upper halves
KINDS = {  # name: (stored elements, sums, shapes)
    "half_float": (np.float16, np.float32, "16_16_16 32_8_16 8_32_16"),
    "half_half": (np.float16, np.float16, "16_16_16 32_8_16 8_32_16"),
    "bfloat": (BF16, np.float32, "16_16_16 32_8_16 8_32_16"),
    "schar": (np.int8, np.int32, "16_16_16 32_8_16 8_32_16"),
    "uchar": (np.uint8, np.int32, "16_16_16 32_8_16 8_32_16"),
    "tf32": (np.float32, np.float32, "16_16_8"),
    "double": (np.float64, np.float64, "8_8_4"),
}
CASES = [(name, shape) for name, (_, _, shapes) in KINDS.items() for shape in shapes.split()]


@pytest.fixture(scope="module")
def module(compile):
    return compile(SOURCE, "-arch=sm_90")


def in_memory(matrix: np.ndarray, by_row: bool, leading: int) -> np.ndarray:
    """A matrix as it lies in memory, its rows (or columns) `leading` elements apart; in the gaps lies 99."""
    lines = matrix if by_row else matrix.T
    memory = np.full((len(lines), leading), 99).astype(matrix.dtype)
    memory[:, : lines.shape[1]] = lines
    return memory


def stored(matrix: np.ndarray, kind: object) -> np.ndarray:
    if kind == BF16:
        return (matrix.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return matrix.astype(kind)


@pytest.mark.parametrize("layouts", ["row_row", "row_col", "col_row", "col_col"])
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_every_shape_multiplies_whole_numbers_exactly(module, name, shape, layouts):
    m, n, k = map(int, shape.split("_"))
    kind, sum_kind, _ = KINDS[name]
    random = np.random.default_rng(len(name) + m + n)
    low = 0 if name == "uchar" else -9
    a, b, c = (random.integers(low, 10, size) for size in ((m, k), (k, n), (m, n)))
    a_by_row, b_by_row = (word == "row" for word in layouts.split("_"))
    kernel = module.get_function(f"{name}_{shape}_{layouts}")
    for by_row in (True, False):
        lda, ldb, ldc = (k if a_by_row else m) + 16, (n if b_by_row else k) + 16, (n if by_row else m) + 8
        memory_a = in_memory(stored(a, kind), a_by_row, lda)
        memory_b = in_memory(stored(b, kind), b_by_row, ldb)
        memory_c = in_memory(c.astype(sum_kind), by_row, ldc)
        d = np.full_like(memory_c, 77)
        kernel(
            cuda.In(memory_a), np.uint32(lda), cuda.In(memory_b), np.uint32(ldb), cuda.In(memory_c), cuda.InOut(d),
            np.uint32(ldc), np.int32(by_row), block=(32, 1, 1),
        )  # fmt: skip
        want = a @ b + c
        got = d[:, : n if by_row else m]
        assert np.array_equal(got if by_row else got.T, want.astype(sum_kind))
        assert np.all(d[:, n if by_row else m :] == 77), "what lies between the rows was written"


def nibbles(values: np.ndarray) -> np.ndarray:
    """Rows of 4-bit elements, the first in the lowest bits."""
    low, high = values[:, 0::2] & 15, values[:, 1::2] & 15
    return np.ascontiguousarray((low | high << 4).astype(np.uint8))


@pytest.mark.parametrize("name", ["s4", "u4"])
def test_four_bit_integers(module, name):
    low, high = (-8, 8) if name == "s4" else (0, 16)
    random = np.random.default_rng(4)
    a, b = random.integers(low, high, (8, 32)), random.integers(low, high, (32, 8))
    c = random.integers(-1000, 1000, (8, 8)).astype(np.int32)
    d = np.zeros((8, 8), np.int32)
    module.get_function(f"{name}_8_8_32_row_col")(
        cuda.In(nibbles(a)), np.uint32(32), cuda.In(nibbles(b.T)), np.uint32(32), cuda.In(c), cuda.InOut(d),
        np.uint32(8), np.int32(1), block=(32, 1, 1),
    )  # fmt: skip
    assert np.array_equal(d, a @ b + c)


@pytest.mark.parametrize("exclusive", [0, 1])
def test_bits(module, exclusive):
    random = np.random.default_rng(1)
    a, b = random.integers(0, 2, (8, 128)), random.integers(0, 2, (128, 8))
    d = np.zeros((8, 8), np.int32)
    packed = [np.packbits(x.astype(np.uint8), axis=1, bitorder="little") for x in (a, np.ascontiguousarray(b.T))]
    module.get_function("bits")(
        cuda.In(packed[0]), cuda.In(packed[1]), cuda.InOut(d), np.int32(exclusive), block=(32, 1, 1)
    )
    pairs = a[:, :, None] ^ b[None] if exclusive else a[:, :, None] & b[None]
    assert np.array_equal(d, pairs.sum(axis=1) + 1000)


def test_a_tiled_product_in_shared_memory(module):
    n = 64
    random = np.random.default_rng(5)
    a, b = (random.uniform(-1, 1, (n, n)).astype(np.float16) for _ in range(2))
    c = random.uniform(-1, 1, (n, n)).astype(np.float32)
    d = np.full((n, n), np.nan, np.float32)
    module.get_function("gemm")(
        cuda.In(a), cuda.In(b), cuda.In(c), cuda.InOut(d), np.int32(n), np.float32(2), np.float32(-0.5),
        block=(32, 1, 1), grid=(n // 16, n // 16),
    )  # fmt: skip
    want = 2 * (a.astype(np.float64) @ b.astype(np.float64)) - 0.5 * c
    assert np.allclose(d, want, rtol=0, atol=2 * n * 2.0**-22)


def test_fragments_lie_as_on_hardware(module):
    """Measured on an H200: the accumulator is mma's m16n8, left columns then right; A is held twice."""
    index = np.arange(256)
    xa, xc = np.zeros((32, 16), np.float16), np.zeros((32, 8), np.float32)
    module.get_function("fragments")(
        cuda.In(index.astype(np.float16)), cuda.In(index.astype(np.float32)), cuda.Out(xa), cuda.Out(xc),
        block=(32, 1, 1),
    )  # fmt: skip
    lane, i = np.arange(32)[:, None], np.arange(8)[None]
    row, column = lane // 4 + i // 2 % 2 * 8, 2 * (lane % 4) + i % 2 + i // 4 * 8
    assert np.array_equal(xc, 16 * row + column)
    assert np.array_equal(xa[:, :8], 16 * row + column)
    assert np.array_equal(xa[:, 8:], xa[:, :8])


@pytest.mark.parametrize(("name", "addend", "result"), [("narrowed", "f4", "f2"), ("widened", "f2", "f4")])
def test_sums_may_have_another_type_than_addends(module, name, addend, result):
    random = np.random.default_rng(7)
    a, b = (random.integers(-9, 10, (16, 16)).astype(np.float16) for _ in range(2))
    c, d = random.integers(-99, 99, (16, 16)).astype(addend), np.zeros((16, 16), result)
    module.get_function(name)(cuda.In(a), cuda.In(b), cuda.In(c), cuda.InOut(d), block=(32, 1, 1))
    assert np.array_equal(d, (a.astype(np.int32) @ b.astype(np.int32) + c).astype(result))


def test_saturation_stops_at_the_ends(module):
    a, b = np.full((16, 16), 127, np.int8), np.full((16, 16), 127, np.int8)
    b[8:] = -128
    c = np.empty((16, 16), np.int32)
    c[:, :8], c[:, 8:] = 2**31 - 100, -(2**31) + 100
    d = np.zeros_like(c)
    module.get_function("saturated")(cuda.In(a), cuda.In(b), cuda.In(c), cuda.InOut(d), block=(32, 1, 1))
    assert np.all(d[:, :8] == 2**31 - 1) and np.all(d[:, 8:] == -(2**31))
