// C = A Bᵀ as in wgmma.cu, by blocks that stay: as many as the GPU holds at once, each computing one tile of C after the other.
// v12 has the copy engine write C, which maps[2] describes.
#include "hopper.cuh"
constexpr int BM = 128, BN = 256, BK = 64, STAGES = 4, CONSUMERS = 2;
constexpr int A_BYTES = BM * BK * 2, B_BYTES = BN * BK * 2, PANEL = 64 * BK * 2;
constexpr int GROUP = 16;  // rows of tiles that are taken together

// --8<-- [start:orders]
// The tiles that block `me` of `all` takes: first, first + step, … below last.
struct Turn {
    int first, last, step;
};
__device__ Turn run_of_tiles(int tiles, int me, int all) {  // v9: neighbours one after the other
    return {(int)((long long)tiles * me / all), (int)((long long)tiles * (me + 1) / all), 1};
}
__device__ Turn every_nth_tile(int tiles, int me, int all) {
    return {me, tiles, all};
}  // v10: neighbours at the same time

// Tile t of rows x columns tiles, in groups of `most` rows: down a column of the group, then the next column.
__device__ void grouped(int t, int most, int rows, int columns, int& row, int& column) {
    const int per = most * columns, first = t / per * most, high = min(most, rows - first);
    row = first + t % per % high;
    column = t % per / high;
}
// --8<-- [end:orders]

template <bool RUNS, int CLUSTER>
__device__ __forceinline__ void persistent(bf16* C, int M, int N, int K) {
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
    if (CLUSTER > 1)
        cluster_sync();
    else
        __syncthreads();

    // --8<-- [start:loop]
    const Turn turn = RUNS ? run_of_tiles(rows * columns, me, all) : every_nth_tile(rows * columns, me, all);
    auto place = [&](int t, int& m, int& n) {
        int row, column;
        if (RUNS)
            row = t / columns, column = t % columns;
        else
            grouped(t, GROUP / CLUSTER, rows, columns, row, column);
        m = (row * CLUSTER + rank) * BM, n = column * BN;
    };
    int s = 0, phase = 0, m, n;  // the ring goes on from tile to tile
    auto advance = [&] {
        if (++s == STAGES) s = 0, phase ^= 1;
    };
    // --8<-- [end:loop]
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (thread == 0)
            for (int t = turn.first; t < turn.last; t += turn.step) {
                place(t, m, n);
                for (int k = 0; k < steps; k++, advance()) {
                    barrier_wait(empty + 8 * s, phase ^ 1);
                    barrier_expect(full + 8 * s, A_BYTES + B_BYTES);
                    tile_load(As + s * A_BYTES, &maps[0], k * BK, m, full + 8 * s);
                    // --8<-- [start:multicast]
                    if (CLUSTER > 1) {  // its share of B's rows, for all blocks of the cluster
                        constexpr int SHARE = BN / CLUSTER;
                        tile_load_multicast(Bs + s * B_BYTES + rank * SHARE * 128, &maps[1], k * BK, n + rank * SHARE,
                                            full + 8 * s, (1 << CLUSTER) - 1);
                    } else
                        tile_load(Bs + s * B_BYTES, &maps[1], k * BK, n, full + 8 * s);
                    // --8<-- [end:multicast]
                }
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        auto release = [&](int stage) {  // every block of the cluster may write to it
            if (thread < CLUSTER) barrier_arrive_at(empty + 8 * stage, thread);
        };
        for (int t = turn.first; t < turn.last; t += turn.step) {
            place(t, m, n);
            float d[BN / 2];
            int before = -1;  // the stage of the step before
            for (int k = 0; k < steps; k++, advance()) {
                barrier_wait(full + 8 * s, phase);
                wgmma_fence();
#pragma unroll
                for (int i = 0; i < BK / 16; i++)
                    wgmma(d, descriptor(As + s * A_BYTES + (group - 1) * PANEL) + 2 * i,
                          descriptor(Bs + s * B_BYTES) + 2 * i, k > 0 || i > 0);
                wgmma_commit();
                wgmma_wait<1>();
                if (before >= 0) release(before);
                before = s;
            }
            wgmma_wait<0>();
            wgmma_done(d);
            release(before);
            if (C == nullptr)
                copy_sums(&maps[2], Cs + (group - 1) * 16384, m + (group - 1) * 64, n, d);
            else
                store_sums(C, M, N, m + (group - 1) * 64, n, d);
        }
        if (C == nullptr && thread == 0) copies_done();
    }
    if (CLUSTER > 1) cluster_sync();  // no block leaves while another may still arrive at its barriers
}

extern "C" __global__ void __launch_bounds__(384, 1) gemm_v9(bf16* C, int M, int N, int K) {
    persistent<true, 1>(C, M, N, K);
}
extern "C" __global__ void __launch_bounds__(384, 1) gemm_v10(bf16* C, int M, int N, int K) {
    persistent<false, 1>(C, M, N, K);
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1) gemm_v11(bf16* C, int M, int N, int K) {
    persistent<false, 2>(C, M, N, K);
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1) gemm_v12(int M, int N, int K) {
    persistent<false, 2>(nullptr, M, N, K);
}
