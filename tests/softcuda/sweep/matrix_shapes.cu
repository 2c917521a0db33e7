// nvcuda::wmma in every shape, layout, type and state space.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "check.h"

using namespace nvcuda;

enum class Space { generic, global, shared };

__device__ alignas(32) unsigned char device_room[4][2048];

// Room for a matrix, in a state space that the compiler knows, or does not.
template <Space space, class T>
__device__ T* room(int which) {
    __shared__ alignas(32) unsigned char block_room[4][2048];
    if constexpr (space == Space::shared) return reinterpret_cast<T*>(block_room[which]);
    T* at = reinterpret_cast<T*>(device_room[which]);
    return space == Space::global ? at : hide(at);
}

__device__ int a_at(int i, int k) { return (i * 3 + k * 5) % 7 + 1; }
__device__ int b_at(int k, int j) { return (k * 2 + j * 11) % 5; }
__device__ int c_at(int i, int j) { return (i + j * 3) % 9; }

template <class Layout>
constexpr bool by_rows = false;
template <>
constexpr bool by_rows<wmma::row_major> = true;

template <Space space, int M, int N, int K, class In, class Fragment, class C, class D, class LayoutA, class LayoutB,
          bool rows>
__device__ void product() {
    In *a = room<space, In>(0), *b = room<space, In>(1);
    C* c = room<space, C>(2);
    D* d = room<space, D>(3);
    constexpr int lead_a = by_rows<LayoutA> ? K : M, lead_b = by_rows<LayoutB> ? N : K, lead_c = rows ? N : M;
    __syncwarp();
#pragma unroll 1
    for (int i = threadIdx.x; i < M * K; i += 32)
        a[by_rows<LayoutA> ? i : i % K * M + i / K] = In(float(a_at(i / K, i % K)));
#pragma unroll 1
    for (int i = threadIdx.x; i < K * N; i += 32)
        b[by_rows<LayoutB> ? i : i % N * K + i / N] = In(float(b_at(i / N, i % N)));
#pragma unroll 1
    for (int i = threadIdx.x; i < M * N; i += 32) c[rows ? i : i % N * M + i / N] = C(float(c_at(i / N, i % N)));
    __syncwarp();
    const auto layout = rows ? wmma::mem_row_major : wmma::mem_col_major;
    wmma::fragment<wmma::matrix_a, M, N, K, Fragment, LayoutA> left;
    wmma::fragment<wmma::matrix_b, M, N, K, Fragment, LayoutB> right;
    wmma::fragment<wmma::accumulator, M, N, K, C> start;
    wmma::fragment<wmma::accumulator, M, N, K, D> sum;
    wmma::load_matrix_sync(left, a, lead_a);
    wmma::load_matrix_sync(right, b, lead_b);
    wmma::load_matrix_sync(start, c, lead_c, layout);
    wmma::mma_sync(sum, left, right, start);
    wmma::store_matrix_sync(d, sum, lead_c, layout);
    __syncwarp();
#pragma unroll 1
    for (int i = threadIdx.x; i < M * N; i += 32) {
        int want = c_at(i / N, i % N);
#pragma unroll 1
        for (int k = 0; k < K; ++k) want += a_at(i / N, k) * b_at(k, i % N);
        SAME(float(d[rows ? i : i % N * M + i / N]), float(want));
    }
}

template <Space space, int M, int N, int K, class In, class C, class D, class Fragment = In>
__device__ __noinline__ void layouts() {
    using Row = wmma::row_major;
    using Column = wmma::col_major;
    product<space, M, N, K, In, Fragment, C, D, Row, Row, true>();
    product<space, M, N, K, In, Fragment, C, D, Row, Column, false>();
    product<space, M, N, K, In, Fragment, C, D, Column, Row, true>();
    product<space, M, N, K, In, Fragment, C, D, Column, Column, false>();
}

template <Space space, class In, class C, class D>
__device__ void shapes() {
    layouts<space, 16, 16, 16, In, C, D>();
    layouts<space, 32, 8, 16, In, C, D>();
    layouts<space, 8, 32, 16, In, C, D>();
}

TEST(halves_to_floats, 1, 32) {
    shapes<Space::generic, __half, float, float>();
    shapes<Space::global, __half, float, float>();
    shapes<Space::shared, __half, float, float>();
}

TEST(halves_to_halves, 1, 32) {
    shapes<Space::generic, __half, __half, __half>();
    shapes<Space::global, __half, __half, __half>();
    shapes<Space::shared, __half, __half, __half>();
}

TEST(halves_and_floats, 1, 32) {
    shapes<Space::shared, __half, float, __half>();
    shapes<Space::shared, __half, __half, float>();
}

TEST(signed_bytes, 1, 32) {
    shapes<Space::generic, signed char, int, int>();
    shapes<Space::global, signed char, int, int>();
    shapes<Space::shared, signed char, int, int>();
}

TEST(unsigned_bytes, 1, 32) {
    shapes<Space::generic, unsigned char, int, int>();
    shapes<Space::global, unsigned char, int, int>();
    shapes<Space::shared, unsigned char, int, int>();
}

TEST(brain_floats, 1, 32, since = 80) {
#if __CUDA_ARCH__ >= 800
    shapes<Space::generic, __nv_bfloat16, float, float>();
    shapes<Space::global, __nv_bfloat16, float, float>();
    shapes<Space::shared, __nv_bfloat16, float, float>();
#endif
}

TEST(tensor_floats, 1, 32, since = 80) {
#if __CUDA_ARCH__ >= 800
    layouts<Space::generic, 16, 16, 8, float, float, float, wmma::precision::tf32>();
    layouts<Space::global, 16, 16, 8, float, float, float, wmma::precision::tf32>();
    layouts<Space::shared, 16, 16, 8, float, float, float, wmma::precision::tf32>();
#endif
}

TEST(doubles, 1, 32, since = 80) {
#if __CUDA_ARCH__ >= 800
    layouts<Space::generic, 8, 8, 4, double, double, double>();
    layouts<Space::global, 8, 8, 4, double, double, double>();
    layouts<Space::shared, 8, 8, 4, double, double, double>();
#endif
}

// Sums beyond what 32 bits hold stay at the largest.
template <class In, int M, int N>
__device__ void saturated() {
    wmma::fragment<wmma::matrix_a, M, N, 16, In, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, M, N, 16, In, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, M, N, 16, int> sum;
    wmma::fill_fragment(left, In(100));
    wmma::fill_fragment(right, In(100));
    wmma::fill_fragment(sum, hide(0x7fffff00));
    wmma::mma_sync(sum, left, right, sum, true);
    for (int i = 0; i < sum.num_elements; ++i) SAME(sum.x[i], 0x7fffffff);
}

TEST(saturation, 1, 32) {
    saturated<signed char, 16, 16>();
    saturated<signed char, 32, 8>();
    saturated<signed char, 8, 32>();
    saturated<unsigned char, 16, 16>();
    saturated<unsigned char, 32, 8>();
    saturated<unsigned char, 8, 32>();
}

// Four bits an element, and one: rows of a by columns of b, several elements in a word.
template <class Fragment, int bits, int K, class Element, class Times>
__device__ void packed(Space, unsigned* a, unsigned* b, int* d, Element element, Times times) {
    constexpr int each = 32 / bits;
    __syncwarp();
    for (int i = threadIdx.x; i < 8 * K / each; i += 32) a[i] = 0x9e3779b9u * (i + 1), b[i] = 0x85ebca6bu * (i + 3);
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 8, 8, K, Fragment, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 8, K, Fragment, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 8, 8, K, int> sum;
    wmma::fill_fragment(sum, 5);
    wmma::load_matrix_sync(left, a, K);
    wmma::load_matrix_sync(right, b, K);
    times(sum, left, right);
    wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 64; i += 32) {
        int want = 5;
        for (int k = 0; k < K; ++k)
            want += element(a[(i / 8 * K + k) / each] >> k % each * bits, b[(i % 8 * K + k) / each] >> k % each * bits);
        SAME(d[i], want);
    }
}

template <class Fragment, int bits, int K, class Element, class Times>
__device__ void packed_everywhere(Element element, Times times) {
    packed<Fragment, bits, K>(Space::generic, room<Space::generic, unsigned>(0), room<Space::generic, unsigned>(1),
                              room<Space::generic, int>(3), element, times);
    packed<Fragment, bits, K>(Space::global, room<Space::global, unsigned>(0), room<Space::global, unsigned>(1),
                              room<Space::global, int>(3), element, times);
    packed<Fragment, bits, K>(Space::shared, room<Space::shared, unsigned>(0), room<Space::shared, unsigned>(1),
                              room<Space::shared, int>(3), element, times);
}

struct Product {
    bool saturated = false;
    template <class Sum, class Left, class Right>
    __device__ void operator()(Sum& sum, const Left& left, const Right& right) const {
        if (saturated)
            wmma::mma_sync(sum, left, right, sum, true);
        else
            wmma::mma_sync(sum, left, right, sum);
    }
};
struct BitProduct {
    template <class Sum, class Left, class Right>
    __device__ void operator()(Sum& sum, const Left& left, const Right& right) const {
        wmma::bmma_sync(sum, left, right, sum);
    }
};
struct AndProduct {
    template <class Sum, class Left, class Right>
    __device__ void operator()(Sum& sum, const Left& left, const Right& right) const {
        wmma::bmma_sync(sum, left, right, sum, wmma::experimental::bmmaBitOpAND);
    }
};
struct Signed4 {
    __device__ int operator()(unsigned x, unsigned y) const { return (int(x << 28) >> 28) * (int(y << 28) >> 28); }
};
struct Unsigned4 {
    __device__ int operator()(unsigned x, unsigned y) const { return (x & 15) * (y & 15); }
};
struct Differ {
    __device__ int operator()(unsigned x, unsigned y) const { return (x ^ y) & 1; }
};
struct Both {
    __device__ int operator()(unsigned x, unsigned y) const { return x & y & 1; }
};

TEST(nibbles, 1, 32) {
    packed_everywhere<wmma::experimental::precision::s4, 4, 32>(Signed4(), Product());
    packed_everywhere<wmma::experimental::precision::u4, 4, 32>(Unsigned4(), Product());
    packed_everywhere<wmma::experimental::precision::s4, 4, 32>(Signed4(), Product{true});
    packed_everywhere<wmma::experimental::precision::u4, 4, 32>(Unsigned4(), Product{true});
}

TEST(bits, 1, 32) {
    packed_everywhere<wmma::experimental::precision::b1, 1, 128>(Differ(), BitProduct());
// 13.2 to 13.4 refuse what is in their own mma.hpp, for devices of 10.0 and later.
#if __CUDA_ARCH__ >= 800 && (__CUDA_ARCH__ < 1000 || __CUDACC_VER_MINOR__ < 2 || __CUDACC_VER_MINOR__ > 4)
    packed_everywhere<wmma::experimental::precision::b1, 1, 128>(Both(), AndProduct());
#endif
}
