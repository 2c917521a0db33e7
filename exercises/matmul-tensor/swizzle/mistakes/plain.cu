// slow: bank-conflicts
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
    __shared__ uint4 as[32 * 8], bs[32 * 8];  // 8 chunks of 16 bytes per row
    const uint4 *from_a = (const uint4*)a + blockIdx.x * 256, *from_b = (const uint4*)b + blockIdx.x * 256;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = threadIdx.x; i < 256; i += 64) {
        int row = i / 8, at = row * 8 + i % 8;
        as[at] = from_a[i];
        bs[at] = from_b[i];
    }
    __syncthreads();
    float d[4][4] = {};
    for (int k = 0; k < 8; k += 2) {
        unsigned x[4], y[2][4];
        int row = warp * 16 + lane % 16, chunk = k + lane / 16;
        ldmatrix(x, &as[row * 8 + chunk]);  // <-- here
        for (int j = 0; j < 2; j++) {
            row = j * 16 + lane / 16 * 8 + lane % 8, chunk = k + lane / 8 % 2;
            ldmatrix(y[j], &bs[row * 8 + chunk]);  // <-- here
        }
        for (int j = 0; j < 4; j++) mma(d[j], x, y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
    }
    float* to = c + blockIdx.x * 1024 + (warp * 16 + lane / 4) * 32 + lane % 4 * 2;
    for (int j = 0; j < 4; j++) {
        *(float2*)(to + j * 8) = make_float2(d[j][0], d[j][1]);
        *(float2*)(to + 8 * 32 + j * 8) = make_float2(d[j][2], d[j][3]);
    }
}
