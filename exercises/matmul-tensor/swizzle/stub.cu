#include <cuda_fp16.h>

// to: four matrices of 8 x 8 halves as fragments; lanes 8 i … 8 i + 7 name the rows (16 bytes) of matrix i
__device__ void ldmatrix(unsigned (&to)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
}
// d += a bᵀ: 16 x 8 sums of 16 products. d: rows lane / 4 and lane / 4 + 8, columns lane % 4 * 2 and the next.
// a: its matrices are (rows 0-7, k 0-7), (8-15, 0-7), (0-7, 8-15), (8-15, 8-15); b: (rows 0-7, k 0-7), (0-7, 8-15)
__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Product i: c[i] = a[i] b[i]ᵀ, where a[i] and b[i] are 32 x 64 and c[i] is 32 x 32. A block of 64 threads computes one.
__global__ void product(const __half* a, const __half* b, float* c) {
    // your code
    // end of your code
}
