// The implicit GEMM in fp16 by warpgroups (wgmma), for sm_90a. Layouts and sizes are those of half.cuh.
typedef unsigned long long u64;

#ifndef BN
#define BN 64
#define STAGES 3
#define MINB 3
#endif
#include "half.cuh"

// Swizzled within 128 bytes, as wgmma's descriptor says: eight rows are 1024 bytes.
__device__ __forceinline__ u64 descriptor(unsigned at) {
    return (at & 0x3ffff) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}
#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(d, i) FOUR(d, i), FOUR(d, i + 4), FOUR(d, i + 8), FOUR(d, i + 12)
__device__ __forceinline__ void wgmma(float (&d)[32], u64 a, u64 b, int add) {  // 64 x 64 sums, 16 products each
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, p, 1, 1, 0, 0;\n}"
        : SIXTEEN(d, 0), SIXTEEN(d, 16)
        : "l"(a), "l"(b), "r"(add));
}
__device__ __forceinline__ void wgmma(float (&d)[64], u64 a, u64 b, int add) {  // 64 x 128 sums, 16 products each
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, p, 1, 1, 0, 0;\n}"
        : SIXTEEN(d, 0), SIXTEEN(d, 16), SIXTEEN(d, 32), SIXTEEN(d, 48)
        : "l"(a), "l"(b), "r"(add));
}

// --8<-- [start:wgmma]
extern "C" __global__ void __launch_bounds__(THREADS, MINB) conv_wgmma(Shape s, const half* x, const half* w, half* y) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const unsigned base = (unsigned)__cvta_generic_to_shared(memory);
    const int channels = s.C / s.groups, filters = s.K / s.groups, depth = s.R * s.S * channels;
    const int t = threadIdx.x, lane = t % 32, group = blockIdx.z;
    const int outputs = s.N * s.P * s.Q, top = blockIdx.x * BM, left = blockIdx.y * BN;
    x += group * channels, w += (size_t)group * filters * depth, y += group * filters;

    Tiles tiles(s, x, w, base, top, left);
    const int own = t / 128 * 64;  // the rows of this warpgroup
    float d[BN / 2];
#pragma unroll
    for (int step = 0; step < STAGES - 1; step++) tiles.fetch(step);
    // --8<-- [start:wgmma_loop]
    for (int step = 0; step * BK < depth; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");    // wgmma sees what this thread copied
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // the products of the step before
        __syncthreads();
        const unsigned As = base + step % STAGES * (A_BYTES + B_BYTES), Bs = As + A_BYTES;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < BK / 16; k++)  // 16 columns are 32 bytes, 2 units of a descriptor
            wgmma(d, descriptor(As + own * 128) + 2 * k, descriptor(Bs) + 2 * k, step > 0 || k > 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        tiles.fetch(step + STAGES - 1);  // while they run
    }
    // --8<-- [end:wgmma_loop]
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int i = 0; i < BN / 2; i++) asm volatile("" : "+f"(d[i])::"memory");  // nothing reads them before
#pragma unroll
    for (int j = 0; j < BN / 8; j++) {
        int m = top + own + t % 128 / 32 * 16 + lane / 4, n = left + 8 * j + lane % 4 * 2;
        if (n >= filters) continue;
        if (m < outputs) *(half2*)(y + (size_t)m * s.K + n) = __floats2half2_rn(d[4 * j], d[4 * j + 1]);
        if (m + 8 < outputs) *(half2*)(y + (size_t)(m + 8) * s.K + n) = __floats2half2_rn(d[4 * j + 2], d[4 * j + 3]);
    }
}
// --8<-- [end:wgmma]
