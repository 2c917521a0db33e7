// C (M x N) = A (M x K) B^T (B: N x K), K innermost in both: wgmma fed by TMA, persistent blocks, one producer warpgroup and two
// consumer warpgroups, clusters of CLUSTER blocks along M that share the tile of B by multicast, C stored by TMA.
//
// tune.py sets KIND (bf16, f16, tf32, e4m3) and ELEMENT (its bytes), BN (256 or 128), STAGES, CLUSTER (1 or 2) and GROUP (rows of
// tiles, in clusters, that are taken together); OUTF16: C is f16 instead of bf16; OUT32: f32, stored from registers.
//
// Waiting and arriving at an mbarrier with .acquire.cluster and .release.cluster costs a third of the speed (0.70 instead of 1.00 of
// cuBLAS): only the asynchronous proxy touches the tiles, and completion of the barrier is all the order that it needs.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "wgmma.h"  // written by tune.py
#define CAT_(a, b, c) a##b##_##c
#define CAT(a, b, c) CAT_(a, b, c)
#define MMA CAT(mma_, KIND, BN)
constexpr int BM = 128, BK = 128 / ELEMENT, CONSUMERS = 2;  // a row of a tile is 128 bytes
constexpr int A_BYTES = BM * 128, B_BYTES = BN * 128;
constexpr int PANEL = 64 * 128;  // 64 rows of 128 bytes
#ifdef OUT32
constexpr int C_BYTES = 0;
#else
constexpr int PANELS = 2;  // of C that a consumer stages at once
constexpr int C_BYTES = CONSUMERS * PANELS * PANEL;
#endif
typedef unsigned long long u64;
__device__ __forceinline__ unsigned sh(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void bar_init(unsigned b, int n) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(n));
}
__device__ __forceinline__ void bar_expect(unsigned b, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bar_arrive_at(unsigned b, int cta) {
    asm volatile(
        "{.reg .b32 r;\nmapa.shared::cluster.u32 r, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [r];}" ::"r"(b),
        "r"(cta)
        : "memory");
}
__device__ __forceinline__ void bar_wait(unsigned b, int parity) {
    asm volatile(
        "{\n.reg .pred p;\nLAB:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra "
        "LAB;\nDONE:\n}" ::"r"(b),
        "r"(parity)
        : "memory");
}
__device__ __forceinline__ void load(unsigned to, const CUtensorMap* map, int x, int y, unsigned bar) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            to),
        "l"(map), "r"(x), "r"(y), "r"(bar)
        : "memory");
}
__device__ __forceinline__ void load_multicast(unsigned to, const CUtensorMap* map, int x, int y, unsigned bar,
                                               unsigned short mask) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
        "{%2, %3}], [%4], %5;" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(bar), "h"(mask)
        : "memory");
}
__device__ __forceinline__ void store(const CUtensorMap* map, int x, int y, unsigned from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x),
                 "r"(y), "r"(from)
                 : "memory");
}
__device__ __forceinline__ u64 describe(unsigned address) {  // 128-byte swizzle, 8 rows are 1024 bytes
    return (u64)((address & 0x3ffff) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}
__device__ __forceinline__ unsigned pack(float a, float b) {
#ifdef OUTF16
    __half2 h = __floats2half2_rn(a, b);
#else
    __nv_bfloat162 h = __floats2bfloat162_rn(a, b);
#endif
    return *(unsigned*)&h;
}
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(128 * (1 + CONSUMERS), 1)
    hgemm(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
          const __grid_constant__ CUtensorMap c_map, float* C, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const unsigned base = (sh(memory) + 1023) & ~1023u;
    const unsigned As = base, Bs = As + STAGES * A_BYTES, Cs = Bs + STAGES * B_BYTES, full = Cs + C_BYTES,
                   empty = full + 8 * STAGES;
    const int wg = threadIdx.x / 128, tid = threadIdx.x % 128;
    int rank = 0;
    if (CLUSTER > 1) asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            bar_init(full + 8 * s, 1);
            bar_init(empty + 8 * s, CONSUMERS * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if (CLUSTER > 1) {
        asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    } else
        __syncthreads();

    const int rows = (M + BM * CLUSTER - 1) / (BM * CLUSTER), columns = (N + BN - 1) / BN, tiles = rows * columns,
              steps = (K + BK - 1) / BK;
    auto place = [&](int t, int& m, int& n) {
        int per = GROUP * columns, g = t / per, first = g * GROUP, high = min(GROUP, rows - first), r = t % per;
        m = ((first + r % high) * CLUSTER + rank) * BM;
        n = r / high * BN;
    };
    if (wg == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (tid == 0) {
            int s = 0, parity = 1;
            for (int t = blockIdx.x / CLUSTER; t < tiles; t += gridDim.x / CLUSTER) {
                int m, n;
                place(t, m, n);
                for (int k = 0; k < steps; k++) {
                    bar_wait(empty + 8 * s, parity);
                    bar_expect(full + 8 * s, A_BYTES + B_BYTES);
                    load(As + s * A_BYTES, &a_map, k * BK, m, full + 8 * s);
                    if (CLUSTER > 1)
                        load_multicast(Bs + s * B_BYTES + rank * (B_BYTES / CLUSTER), &b_map, k * BK,
                                       n + rank * (BN / CLUSTER), full + 8 * s, (1 << CLUSTER) - 1);
                    else
                        load(Bs + s * B_BYTES, &b_map, k * BK, n, full + 8 * s);
                    if (++s == STAGES) {
                        s = 0;
                        parity ^= 1;
                    }
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const int me = wg - 1, warp = tid / 32, lane = tid % 32;
        int s = 0, parity = 0;
        auto release = [&](int stage) {
            if (tid < CLUSTER) bar_arrive_at(empty + 8 * stage, tid);
        };
        for (int t = blockIdx.x / CLUSTER; t < tiles; t += gridDim.x / CLUSTER) {
            int m, n;
            place(t, m, n);
            float d[BN / 2];
            int before = -1;
            for (int k = 0; k < steps; k++) {
                bar_wait(full + 8 * s, parity);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                u64 a = describe(As + s * A_BYTES + me * PANEL), b = describe(Bs + s * B_BYTES);
#pragma unroll
                for (int i = 0; i < 4; i++) MMA(d, a + 2 * i, b + 2 * i, k > 0 || i > 0);
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (before >= 0) release(before);
                before = s;
                if (++s == STAGES) {
                    s = 0;
                    parity ^= 1;
                }
            }
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
            for (int i = 0; i < BN / 2; i++) asm volatile("" : "+f"(d[i])::"memory");
            release(before);
#ifdef OUT32
            int r = m + me * 64 + warp * 16 + lane / 4;
#pragma unroll
            for (int j = 0; j < BN / 8; j++) {
                int c = n + j * 8 + lane % 4 * 2;
                if (c < N) {
                    if (r < M) *(float2*)(C + (size_t)r * N + c) = make_float2(d[4 * j], d[4 * j + 1]);
                    if (r + 8 < M) *(float2*)(C + (size_t)(r + 8) * N + c) = make_float2(d[4 * j + 2], d[4 * j + 3]);
                }
            }
#else
            const unsigned mine = Cs + me * PANELS * PANEL;
            const int row = warp * 16 + (lane / 8 % 2) * 8 + lane % 8;
#pragma unroll
            for (int p = 0; p < BN / 64; p += PANELS) {
                if (tid == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
                asm volatile("bar.sync %0, 128;" ::"r"(1 + me) : "memory");
#pragma unroll
                for (int q = 0; q < PANELS; q++)
#pragma unroll
                    for (int c = 0; c < 8; c += 2) {
                        int j = (p + q) * 8 + c;
                        unsigned to = mine + q * PANEL + row * 128 + (((c + lane / 16) ^ (row & 7)) * 16);
                        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                                     "r"(pack(d[4 * j], d[4 * j + 1])), "r"(pack(d[4 * j + 2], d[4 * j + 3])),
                                     "r"(pack(d[4 * j + 4], d[4 * j + 5])), "r"(pack(d[4 * j + 6], d[4 * j + 7]))
                                     : "memory");
                    }
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
                asm volatile("bar.sync %0, 128;" ::"r"(1 + me) : "memory");
                if (tid == 0) {
                    for (int q = 0; q < PANELS; q++) store(&c_map, n + (p + q) * 64, m + me * 64, mine + q * PANEL);
                    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
                }
            }
#endif
        }
        if (tid == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    if (CLUSTER > 1)
        asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
