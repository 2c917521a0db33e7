// C = A Bᵀ by persistent blocks whose two consumers take turns: while one stores its tile, the other multiplies the next. Types
// are macros: WGMMA_TYPE, WGMMA_FLAGS, ELEMENT and OUT, as in hopper.cuh. C of fp32 is stored from registers.
#include "hopper.cuh"
#ifndef STAGES
#define STAGES 6   // tiles of A and of B in the ring
#define CLUSTER 2  // blocks beside each other that share their rows of A: 1 or 2
#define GROUP 16   // rows of tiles that are taken together
#endif
constexpr int BM = 128, BN = 128, BK = 128 / ELEMENT;  // a row of a tile is 128 bytes
constexpr int A_BYTES = BM * 128, B_BYTES = BN * 128, PANEL = 64 * 128;

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

// --8<-- [start:v13]
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(384, 1)
    gemm_v13(void* C, int M, int N, int K) {
    __shared__ u64 barriers[2 * STAGES + 2];
    const unsigned As = shared_address(memory), Bs = As + STAGES * A_BYTES, Cs = Bs + STAGES * B_BYTES;
    const unsigned full = shared_address(barriers), empty = full + 8 * STAGES, turn = empty + 8 * STAGES;
    const int rows = (M + BM - 1) / BM, columns = (N + BN * CLUSTER - 1) / (BN * CLUSTER), steps = (K + BK - 1) / BK;
    const int me = blockIdx.x / CLUSTER, rank = blockIdx.x % CLUSTER, all = gridDim.x / CLUSTER;
    const int group = threadIdx.x / 128, thread = threadIdx.x % 128;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, CLUSTER);  // one consumer of each block
        }
        barrier_init(turn, 1);
        barrier_init(turn + 8, 1);
        barrier_init_done();
    }
    cluster_sync();

    auto tile = [&](int i, int& m, int& n) {  // the block's i-th; false if it has no more
        const int t = me + i * all, per = GROUP * columns, first = t / per * GROUP, high = min(GROUP, rows - first);
        m = (first + t % per % max(high, 1)) * BM;
        n = (t % per / max(high, 1) * CLUSTER + rank) * BN;
        return t < rows * columns;
    };
    int m, n;
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (thread == 0)
            for (int i = 0; tile(i, m, n); i++)
                for (int k = 0; k < steps; k++) {
                    const unsigned at = i * steps + k, s = at % STAGES;  // the ring goes on from tile to tile
                    barrier_wait(empty + 8 * s, at / STAGES % 2 ^ 1);
                    barrier_expect(full + 8 * s, A_BYTES + B_BYTES);
                    constexpr int SHARE = BM / CLUSTER;  // rows of A that this block loads for the cluster
                    if (CLUSTER > 1)
                        tile_load_multicast(As + s * A_BYTES + rank * SHARE * 128, &maps[0], k * BK, m + rank * SHARE,
                                            full + 8 * s, (1 << CLUSTER) - 1);
                    else
                        tile_load(As + s * A_BYTES, &maps[0], k * BK, m, full + 8 * s);
                    tile_load(Bs + s * B_BYTES, &maps[1], k * BK, n, full + 8 * s);
                }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const int me = group - 1;
        auto release = [&](unsigned at) {
            if (thread < CLUSTER) barrier_arrive_at(empty + 8 * (at % STAGES), thread);
        };
        // --8<-- [start:v13_turn]
        for (int i = me; tile(i, m, n); i += 2) {
            float d[2][BN / 2];
            barrier_wait(turn + 8 * me, i / 2 % 2 ^ (me == 0));  // the other has started its last products
            for (int k = 0; k < steps; k++) {
                const unsigned at = i * steps + k, s = at % STAGES;
                barrier_wait(full + 8 * s, at / STAGES % 2);
                wgmma_fence();
#pragma unroll
                for (int j = 0; j < 4; j++)  // 32 bytes of each row
#pragma unroll
                    for (int half = 0; half < 2; half++)
                        wgmma(d[half], descriptor(As + s * A_BYTES + half * PANEL) + 2 * j,
                              descriptor(Bs + s * B_BYTES) + 2 * j, k > 0 || j > 0);
                wgmma_commit();
                wgmma_wait<1>();
                if (k > 0) release(at - 1);
            }
            if (thread == 0) barrier_arrive(turn + 8 * (1 - me));
            // --8<-- [end:v13_turn]
            wgmma_wait<0>();
            release(i * steps + steps - 1);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                wgmma_done(d[half]);
                if (OUT == 2)
                    store_floats((float*)C, M, N, m + half * 64, n, d[half]);
                else
                    copy_sums(&maps[2], Cs + me * 16384, m + half * 64, n, d[half]);
            }
        }
        if (thread == 0) copies_done();
    }
    cluster_sync();  // no block leaves while another may still write to it
}
// --8<-- [end:v13]
