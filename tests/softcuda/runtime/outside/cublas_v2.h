// As much of cuBLAS as programs of others declare that compare their own kernels with it: a plain matrix product, by which
// the results are judged.  cuBLAS itself is machine code.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_SUPPORTED = 15 };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasMath_t { CUBLAS_DEFAULT_MATH, CUBLAS_TF32_TENSOR_OP_MATH = 3 };
enum cublasComputeType_t {
    CUBLAS_COMPUTE_16F,
    CUBLAS_COMPUTE_32F,
    CUBLAS_COMPUTE_32F_FAST_16BF,
    CUBLAS_COMPUTE_32F_FAST_TF32
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
using cublasHandle_t = void*;

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
    *handle = nullptr;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }

// C = alpha A B + beta C, columns first.
static __global__ void judging_product(int m, int n, int k, float alpha, const float* a, int lda, const float* b,
                                       int ldb, float beta, float* c, int ldc) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y;
    if (row >= m || column >= n) return;
    double sum = 0;
    for (int i = 0; i < k; ++i) sum += double(a[row + size_t(i) * lda]) * b[i + size_t(column) * ldb];
    c[row + size_t(column) * ldc] = float(alpha * sum + beta * c[row + size_t(column) * ldc]);
}

inline cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                                   const void* alpha, const void* a, cudaDataType type_a, int lda, const void* b,
                                   cudaDataType type_b, int ldb, const void* beta, void* c, cudaDataType type_c,
                                   int ldc, cublasComputeType_t, cublasGemmAlgo_t) {
    if (op_a != CUBLAS_OP_N || op_b != CUBLAS_OP_N || type_a != CUDA_R_32F || type_b != CUDA_R_32F ||
        type_c != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    judging_product<<<dim3((m + 127) / 128, n), 128>>>(
        m, n, k, *static_cast<const float*>(alpha), static_cast<const float*>(a), lda, static_cast<const float*>(b),
        ldb, *static_cast<const float*>(beta), static_cast<float*>(c), ldc);
    return CUBLAS_STATUS_SUCCESS;
}
