// The implicit GEMM in fp16 with sums in fp32, by mma.sync. Layouts are those of half.cuh.
#ifndef BN
#define BN 64
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef MINB
#define MINB 2
#endif
#include "half.cuh"
constexpr int WN = BN / 2;  // 4 x 2 warps, each 32 x WN

__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void ldmatrix(unsigned (&to)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
}

// --8<-- [start:half]
extern "C" __global__ void __launch_bounds__(THREADS, MINB) conv_half(Shape s, const half* x, const half* w, half* y) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const unsigned base = (unsigned)__cvta_generic_to_shared(memory);
    const int channels = s.C / s.groups, filters = s.K / s.groups, depth = s.R * s.S * channels;
    const int t = threadIdx.x, warp = t / 32, lane = t % 32, group = blockIdx.z;
    const int outputs = s.N * s.P * s.Q, top = blockIdx.x * BM, left = blockIdx.y * BN;
    x += group * channels, w += (size_t)group * filters * depth, y += group * filters;

    Tiles tiles(s, x, w, base, top, left);
    const int row = warp / 2 * 32, column = warp % 2 * WN;
    float d[2][WN / 8][4] = {};
#pragma unroll
    for (int step = 0; step < STAGES - 1; step++) tiles.fetch(step);
    for (int step = 0; step * BK < depth; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        tiles.fetch(step + STAGES - 1);
        const unsigned As = base + step % STAGES * (A_BYTES + B_BYTES), Bs = As + A_BYTES;
#pragma unroll
        for (int k = 0; k < BK / 16; k++) {
            unsigned a[2][4], b[WN / 16][4];
#pragma unroll
            for (int i = 0; i < 2; i++) ldmatrix(a[i], As + chunk_at(row + i * 16 + lane % 16, 2 * k + lane / 16));
#pragma unroll
            for (int j = 0; j < WN / 16; j++)
                ldmatrix(b[j], Bs + chunk_at(column + j * 16 + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < WN / 8; j++) mma(d[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < WN / 8; j++) {
            int m = top + row + i * 16 + lane / 4, n = left + column + j * 8 + lane % 4 * 2;
            if (n >= filters) continue;
            if (m < outputs) *(half2*)(y + (size_t)m * s.K + n) = __floats2half2_rn(d[i][j][0], d[i][j][1]);
            if (m + 8 < outputs) *(half2*)(y + (size_t)(m + 8) * s.K + n) = __floats2half2_rn(d[i][j][2], d[i][j][3]);
        }
}
// --8<-- [end:half]
