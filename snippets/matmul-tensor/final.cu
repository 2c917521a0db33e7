// C = A Bᵀ by persistent blocks, as in persistent.cu; C goes through shared memory and is written by the copy engine. The types
// are macros: WGMMA_TYPE and WGMMA_FLAGS (hopper.cuh), ELEMENT (bytes of an element of A and B), OUT (0: C is bf16, 1: fp16,
// 2: fp32, which is stored from registers).
#include "hopper.cuh"
#include <cuda_fp16.h>
#ifndef ELEMENT
#define ELEMENT 2
#define OUT 0
#endif
#ifndef BN
#define BN 256       // columns of a tile: 128 or 256
#define STAGES 4     // tiles of A and B in the ring
#define CLUSTER 1    // blocks below each other that share a tile of B: 1 or 2
#define GROUP 16     // rows of tiles that are taken together, in clusters
#endif
constexpr int BM = 128, BK = 128 / ELEMENT, CONSUMERS = 2;
constexpr int A_BYTES = BM * 128, B_BYTES = BN * 128, PANEL = 64 * 128;
constexpr int PANELS = 2;  // of C, 64 x 64 each, that a consumer keeps in shared memory at once

// --8<-- [start:pack]
__device__ __forceinline__ unsigned pack(float a, float b) {
#if OUT == 1
    const __half2 pair = __floats2half2_rn(a, b);
#else
    const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
#endif
    return *(const unsigned*)&pair;
}
__device__ __forceinline__ void stmatrix(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c),
                 "r"(d)
                 : "memory");
}
// --8<-- [end:pack]
__device__ __forceinline__ void consumer_sync(int consumer) {
    asm volatile("bar.sync %0, 128;" ::"r"(1 + consumer) : "memory");
}
// --8<-- [start:epilogue]
// The sums of a consumer to C, through its own 16 KiB of shared memory; the copies go on while the next tile is computed.
__device__ __forceinline__ void store_tile(const CUtensorMap* c_map, unsigned mine, int consumer, int m, int n,
                                           const float (&d)[BN / 2]) {
    const int thread = threadIdx.x % 128, lane = thread % 32;
    const int row = thread / 32 * 16 + lane / 8 % 2 * 8 + lane % 8;
#pragma unroll
    for (int p = 0; p < BN / 64; p += PANELS) {
        if (thread == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        consumer_sync(consumer);  // the copies before have read what we overwrite now
#pragma unroll
        for (int q = 0; q < PANELS; q++)
#pragma unroll
            for (int c = 0; c < 8; c += 2) {  // 16 bytes at a time, swizzled as c_map has it
                const int j = ((p + q) * 8 + c) * 4;
                stmatrix(mine + q * PANEL + row * 128 + ((c + lane / 16) ^ row % 8) * 16, pack(d[j], d[j + 1]),
                         pack(d[j + 2], d[j + 3]), pack(d[j + 4], d[j + 5]), pack(d[j + 6], d[j + 7]));
            }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the copy engine sees what we wrote
        consumer_sync(consumer);
        if (thread == 0) {
            for (int q = 0; q < PANELS; q++) tile_store(c_map, n + (p + q) * 64, m, mine + q * PANEL);
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
}
// --8<-- [end:epilogue]
__device__ __forceinline__ void store_floats(float* C, int M, int N, int row, int column, const float (&d)[BN / 2]) {
    const int r = row + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
#pragma unroll
    for (int j = 0; j < BN / 8; j++) {
        const int c = column + 8 * j + threadIdx.x % 4 * 2;
        if (c >= N) continue;
        if (r < M) *(float2*)(C + (size_t)r * N + c) = make_float2(d[4 * j], d[4 * j + 1]);
        if (r + 8 < M) *(float2*)(C + (size_t)(r + 8) * N + c) = make_float2(d[4 * j + 2], d[4 * j + 3]);
    }
}
__device__ __forceinline__ void cluster_sync() {
    if (CLUSTER > 1)
        asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    else
        __syncthreads();
}

// --8<-- [start:v12]
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(384, 1)
    gemm_v12(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
             const __grid_constant__ CUtensorMap c_map, void* C, int M, int N, int K) {
    __shared__ u64 barriers[2 * STAGES];
    const unsigned As = shared_address(memory), Bs = As + STAGES * A_BYTES, Cs = Bs + STAGES * B_BYTES;
    const unsigned full = shared_address(barriers), empty = full + 8 * STAGES;
    const int rows = (M + BM * CLUSTER - 1) / (BM * CLUSTER), columns = (N + BN - 1) / BN, steps = (K + BK - 1) / BK;
    const int me = blockIdx.x / CLUSTER, rank = blockIdx.x % CLUSTER, all = gridDim.x / CLUSTER;
    const int group = threadIdx.x / 128, thread = threadIdx.x % 128;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, CONSUMERS * CLUSTER);
        }
        barrier_init_done();
    }
    cluster_sync();

    auto place = [&](int t, int& m, int& n) {
        const int per = GROUP * columns, first = t / per * GROUP, high = min(GROUP, rows - first);
        m = ((first + t % per % high) * CLUSTER + rank) * BM;
        n = t % per / high * BN;
    };
    int s = 0, phase = 0, m, n;
    auto advance = [&] {
        if (++s == STAGES) s = 0, phase ^= 1;
    };
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (thread == 0)
            for (int t = me; t < rows * columns; t += all) {
                place(t, m, n);
                for (int k = 0; k < steps; k++, advance()) {
                    barrier_wait(empty + 8 * s, phase ^ 1);
                    barrier_expect(full + 8 * s, A_BYTES + B_BYTES);
                    tile_load(As + s * A_BYTES, &a_map, k * BK, m, full + 8 * s);
                    constexpr int SHARE = BN / CLUSTER;
                    if (CLUSTER > 1)
                        tile_load_multicast(Bs + s * B_BYTES + rank * SHARE * 128, &b_map, k * BK, n + rank * SHARE,
                                            full + 8 * s, (1 << CLUSTER) - 1);
                    else
                        tile_load(Bs + s * B_BYTES, &b_map, k * BK, n, full + 8 * s);
                }
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const int consumer = group - 1;
        auto release = [&](int stage) {
            if (thread < CLUSTER) barrier_arrive_at(empty + 8 * stage, thread);
        };
        for (int t = me; t < rows * columns; t += all) {
            place(t, m, n);
            float d[BN / 2];
            int before = -1;
            for (int k = 0; k < steps; k++, advance()) {
                barrier_wait(full + 8 * s, phase);
                wgmma_fence();
#pragma unroll
                for (int i = 0; i < 4; i++)  // 32 bytes of each row
                    wgmma(d, descriptor(As + s * A_BYTES + consumer * PANEL) + 2 * i,
                          descriptor(Bs + s * B_BYTES) + 2 * i, k > 0 || i > 0);
                wgmma_commit();
                wgmma_wait<1>();
                if (before >= 0) release(before);
                before = s;
            }
            wgmma_wait<0>();
            wgmma_done(d);
            release(before);
            if (OUT == 2)
                store_floats((float*)C, M, N, m + consumer * 64, n, d);
            else
                store_tile(&c_map, Cs + consumer * PANELS * PANEL, consumer, m + consumer * 64, n, d);
        }
        if (thread == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    if (CLUSTER > 1) cluster_sync();
}
// --8<-- [end:v12]
