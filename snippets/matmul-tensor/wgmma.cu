// C = A Bᵀ in bf16 with sums in fp32, by warpgroups. A is M x K, B is N x K, C is M x N, all row-major; K and N are multiples
// of 8. The copy engine fetches boxes of 64 columns: rows of 128 bytes, swizzled. Each block computes a tile of C; blockIdx.x
// counts tiles along a row of C first.
#include "hopper.cuh"
constexpr int BM = 128, BK = 64;    // rows of a tile, and columns of A and B per step
constexpr int PANEL = 64 * BK * 2;  // bytes of 64 rows, which one wgmma takes of A
constexpr int A_BYTES = BM * BK * 2;

// --8<-- [start:v4]
extern "C" __global__ void __launch_bounds__(128) gemm_v4(bf16* C, int M, int N, int K) {
    constexpr int BN = 128, B_BYTES = BN * BK * 2;
    __shared__ u64 barrier;
    const unsigned As = shared_address(memory), Bs = As + A_BYTES, full = shared_address(&barrier);
    const int columns = (N + BN - 1) / BN, m = blockIdx.x / columns * BM, n = blockIdx.x % columns * BN;
    if (threadIdx.x == 0) {
        barrier_init(full, 1);
        barrier_init_done();
    }
    __syncthreads();

    float d[2][BN / 2];
    for (int k = 0; k < K; k += BK) {
        if (threadIdx.x == 0) {
            barrier_expect(full, A_BYTES + B_BYTES);
            tile_load(As, &maps[0], k, m, full);
            tile_load(Bs, &maps[1], k, n, full);
        }
        barrier_wait(full, k / BK % 2);
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < BK / 16; i++)  // 16 columns are 32 bytes, 2 units of a descriptor
#pragma unroll
            for (int half = 0; half < 2; half++)
                wgmma(d[half], descriptor(As + half * PANEL) + 2 * i, descriptor(Bs) + 2 * i, k > 0 || i > 0);
        wgmma_commit();
        wgmma_wait<0>();
        __syncthreads();  // the tiles may be overwritten
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        wgmma_done(d[half]);
        store_sums(C, M, N, m + half * 64, n, d[half]);
    }
}
// --8<-- [end:v4]

// --8<-- [start:v5]
// Warpgroup 0 has the producer, a thread that asks for tiles. The others compute BM / CONSUMERS rows each.
template <int BN, int STAGES, int CONSUMERS, bool MOVE_REGISTERS>
__device__ __forceinline__ void queue(bf16* C, int M, int N, int K) {
    constexpr int HALVES = 2 / CONSUMERS, B_BYTES = BN * BK * 2;
    __shared__ u64 barriers[2 * STAGES];
    const unsigned As = shared_address(memory), Bs = As + STAGES * A_BYTES;
    const unsigned full = shared_address(barriers), empty = full + 8 * STAGES;  // one of each per stage
    const int columns = (N + BN - 1) / BN, m = blockIdx.x / columns * BM, n = blockIdx.x % columns * BN;
    const int steps = (K + BK - 1) / BK, group = threadIdx.x / 128;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, CONSUMERS);
        }
        barrier_init_done();
    }
    __syncthreads();

    // --8<-- [start:v5_roles]
    if (group == 0) {
        if (MOVE_REGISTERS) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x > 0) return;
        for (int k = 0; k < steps; k++) {
            const int s = k % STAGES, lap = k / STAGES;
            barrier_wait(empty + 8 * s, lap % 2 ^ 1);  // at once in the first lap
            barrier_expect(full + 8 * s, A_BYTES + B_BYTES);
            tile_load(As + s * A_BYTES, &maps[0], k * BK, m, full + 8 * s);
            tile_load(Bs + s * B_BYTES, &maps[1], k * BK, n, full + 8 * s);
        }
        return;
    }
    if (MOVE_REGISTERS) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int first = (group - 1) * HALVES;  // of the halves of A
    float d[HALVES][BN / 2];
    for (int k = 0; k < steps; k++) {
        const int s = k % STAGES, lap = k / STAGES;
        barrier_wait(full + 8 * s, lap % 2);
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < BK / 16; i++)
#pragma unroll
            for (int half = 0; half < HALVES; half++)
                wgmma(d[half], descriptor(As + s * A_BYTES + (first + half) * PANEL) + 2 * i,
                      descriptor(Bs + s * B_BYTES) + 2 * i, k > 0 || i > 0);
        wgmma_commit();
        wgmma_wait<1>();  // the products of the step before are there, and its stage is free
        if (k > 0 && threadIdx.x % 128 == 0) barrier_arrive(empty + 8 * ((k - 1) % STAGES));
    }
    // --8<-- [end:v5_roles]
    wgmma_wait<0>();
#pragma unroll
    for (int half = 0; half < HALVES; half++) {
        wgmma_done(d[half]);
        store_sums(C, M, N, m + (first + half) * 64, n, d[half]);
    }
}

extern "C" __global__ void __launch_bounds__(256, 1) gemm_v5(bf16* C, int M, int N, int K) {
    queue<128, 5, 1, false>(C, M, N, K);
}
// --8<-- [end:v5]
// --8<-- [start:v6]
extern "C" __global__ void __launch_bounds__(256, 1) gemm_v6(bf16* C, int M, int N, int K) {
    queue<256, 4, 1, false>(C, M, N, K);
}
// --8<-- [end:v6]
// --8<-- [start:v7]
extern "C" __global__ void __launch_bounds__(384, 1) gemm_v7(bf16* C, int M, int N, int K) {
    queue<256, 4, 2, false>(C, M, N, K);
}
// --8<-- [end:v7]
// --8<-- [start:v8]
extern "C" __global__ void __launch_bounds__(384, 1) gemm_v8(bf16* C, int M, int N, int K) {
    queue<256, 4, 2, true>(C, M, N, K);
}
// --8<-- [end:v8]
