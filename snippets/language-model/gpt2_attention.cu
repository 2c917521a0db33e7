// The kernels of flash-attention on tensor cores with bf16 in place of fp16: forward in one pass, backward without atomics.
// Their files speak of halves; here a half has bf16's bits, and mma.sync is asked for bf16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define __half __nv_bfloat16
#define __half2 __nv_bfloat162
#define __floats2half2_rn __floats2bfloat162_rn
#define __half2float __bfloat162float
#define mma mma_of_halves  // of fragments.cu, which we replace
#include "../flash-attention/fragments.cu"
#undef mma

__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#include "../flash-attention/backward_mma.cu"
#include "../flash-attention/mma.cu"
