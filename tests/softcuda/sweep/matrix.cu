// Tensor cores through nvcuda::wmma, and mma.sync and ldmatrix in inline PTX.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "check.h"

using namespace nvcuda;

__device__ alignas(32) unsigned char room_a[4096], room_b[4096], room_c[8192], room_d[8192];

__device__ int a_at(int i, int k) { return (i * 3 + k * 5) % 7 - 3; }
__device__ int b_at(int k, int j) { return (k * 2 + j * 11) % 5 - 2; }

template <int M, int N, int K, class In, class Out, class Fragment = In>
__device__ void product(bool column_b) {
    In *a = reinterpret_cast<In*>(room_a), *b = reinterpret_cast<In*>(room_b);
    Out *c = reinterpret_cast<Out*>(room_c), *d = reinterpret_cast<Out*>(room_d);
    __syncwarp();
    for (int i = threadIdx.x; i < M * K; i += 32) a[i] = In(float(a_at(i / K, i % K)));
    for (int i = threadIdx.x; i < K * N; i += 32) b[column_b ? i % N * K + i / N : i] = In(float(b_at(i / N, i % N)));
    for (int i = threadIdx.x; i < M * N; i += 32) c[i] = Out(float(i % 9));
    __syncwarp();
    wmma::fragment<wmma::accumulator, M, N, K, Out> sum;
    wmma::fragment<wmma::matrix_a, M, N, K, Fragment, wmma::row_major> left;
    wmma::load_matrix_sync(sum, c, N, wmma::mem_row_major);
    wmma::load_matrix_sync(left, a, K);
    if (column_b) {
        wmma::fragment<wmma::matrix_b, M, N, K, Fragment, wmma::col_major> right;
        wmma::load_matrix_sync(right, b, K);
        wmma::mma_sync(sum, left, right, sum);
    } else {
        wmma::fragment<wmma::matrix_b, M, N, K, Fragment, wmma::row_major> right;
        wmma::load_matrix_sync(right, b, N);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(d, sum, N, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < M * N; i += 32) {
        int want = i % 9;
        for (int k = 0; k < K; ++k) want += a_at(i / N, k) * b_at(k, i % N);
        SAME(float(d[i]), float(want));
    }
    __syncwarp();
}

TEST(halves, 1, 32) {
    product<16, 16, 16, __half, float>(false);
    product<16, 16, 16, __half, __half>(true);
    product<32, 8, 16, __half, float>(true);
    product<8, 32, 16, __half, float>(false);
}

TEST(bytes, 1, 32) {
    product<16, 16, 16, signed char, int>(false);
    product<32, 8, 16, signed char, int>(true);
    product<8, 32, 16, signed char, int>(true);
}

TEST(brain_floats, 1, 32, since = 80) {
#if __CUDA_ARCH__ >= 800
    product<16, 16, 16, __nv_bfloat16, float>(false);
    product<32, 8, 16, __nv_bfloat16, float>(true);
#endif
}

TEST(tensor_floats, 1, 32, since = 80) {
#if __CUDA_ARCH__ >= 800
    product<16, 16, 8, float, float, wmma::precision::tf32>(true);
#endif
}

TEST(doubles, 1, 32, since = 80) {
#if __CUDA_ARCH__ >= 800
    product<8, 8, 4, double, double>(true);
#endif
}

TEST(fill, 1, 32) {
    float* d = reinterpret_cast<float*>(room_d);
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> all;
    wmma::fill_fragment(all, 2.5f);
    for (int i = 0; i < all.num_elements; ++i) all.x[i] *= 2;
    wmma::store_matrix_sync(d, all, 16, wmma::mem_col_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) SAME(d[i], 5.0f);
}
