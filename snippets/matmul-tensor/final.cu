// C = A Bᵀ by v12's persistent blocks, with fewer instructions: the ring is unrolled, so that the addresses of its stages are
// constants. Every second tile goes along K backwards. Types are macros: WGMMA_TYPE, WGMMA_FLAGS, ELEMENT and OUT, as in hopper.cuh.
#include "hopper.cuh"
#ifndef STAGES
#define STAGES 4   // tiles of A and of B in the ring
#define CLUSTER 2  // blocks below each other that share their rows of B: 1 or 2
#define GROUP 16   // rows of tiles that are taken together
#endif
constexpr int BM = 128, BN = 256, BK = 128 / ELEMENT;  // a row of a tile is 128 bytes
constexpr int A_BYTES = BM * 128, B_BYTES = BN * 128, PANEL = 64 * 128;

// --8<-- [start:v14_floats]
// The sums of a warpgroup, 64 x 256, to C of fp32: one box of 64 rows of 32 floats after the other, through two places in turn.
__device__ __forceinline__ void copy_floats(unsigned mine, int row, int column, const float (&d)[BN / 2]) {
    const int group = threadIdx.x / 128, thread = threadIdx.x % 128, lane = thread % 32;
    const int r = thread / 32 * 16 + lane / 4;
#pragma unroll
    for (int box = 0; box < BN / 32; box++) {
        const unsigned to = mine + box % 2 * PANEL;
        if (thread == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");  // the box before the last has been read
#pragma unroll
        for (int j = 0; j < 8; j++) {  // 8 columns at a time, in two rows, swizzled as the map has it
            const float* two = &d[box * 16 + 2 * j];
            const int at = (r + j % 2 * 8) * 128 + ((j / 2 * 2 + lane % 4 / 2) ^ r % 8) * 16 + lane % 2 * 8;
            asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to + at), "f"(two[0]), "f"(two[1]) : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the copy engine sees what we wrote
        asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");
        if (thread == 0) {
            tile_store(&maps[2], column + box * 32, row, to);
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
}
// --8<-- [end:v14_floats]

// --8<-- [start:v14]
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(384, 1) gemm_v14(int M, int N, int K) {
    __shared__ u64 barriers[2 * STAGES];
    const unsigned As = shared_address(memory), Bs = As + STAGES * A_BYTES, Cs = Bs + STAGES * B_BYTES;
    const unsigned full = shared_address(barriers), empty = full + 8 * STAGES;
    const int rows = (M + BM * CLUSTER - 1) / (BM * CLUSTER), columns = (N + BN - 1) / BN, steps = (K + BK - 1) / BK;
    const int me = blockIdx.x / CLUSTER, rank = blockIdx.x % CLUSTER, all = gridDim.x / CLUSTER;
    const int group = __shfl_sync(~0u, threadIdx.x / 128, 0), thread = threadIdx.x % 128;  // group: the same in a warp
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, 2 * CLUSTER);  // two consumers of each block
        }
        barrier_init_done();
    }
    cluster_sync();

    auto tile = [&](int i, int& m, int& n) {  // the block's i-th; false if it has no more
        constexpr int MOST = GROUP / CLUSTER;
        const int t = me + i * all, per = MOST * columns, first = t / per * MOST,
                  high = max(min(MOST, rows - first), 1);
        m = ((first + t % per % high) * CLUSTER + rank) * BM;
        n = t % per / high * BN;
        return t < rows * columns;
    };
    int m, n;
    unsigned phases = 0;  // bit s: of stage s. Each tile begins at stage 0
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (thread == 0)
            for (int i = 0; tile(i, m, n); i++)
                for (int k = 0; k < steps; k++) {
                    const unsigned s = k % STAGES;
                    const int x = (i % 2 ? steps - 1 - k : k) * BK;  // begin with what the tile before loaded last
                    barrier_wait(empty + 8 * s, phases >> s & 1 ^ 1);
                    phases ^= 1 << s;
                    barrier_expect(full + 8 * s, A_BYTES + B_BYTES);
                    tile_load(As + s * A_BYTES, &maps[0], x, m, full + 8 * s);
                    constexpr int SHARE = BN / CLUSTER;  // rows of B that this block loads for the cluster
                    if (CLUSTER > 1)
                        tile_load_multicast(Bs + s * B_BYTES + rank * SHARE * 128, &maps[1], x, n + rank * SHARE,
                                            full + 8 * s, (1 << CLUSTER) - 1);
                    else
                        tile_load(Bs + s * B_BYTES, &maps[1], x, n, full + 8 * s);
                }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        auto release = [&](int stage) {
            if (thread < CLUSTER) barrier_arrive_at(empty + 8 * stage, thread);
        };
        for (int i = 0; tile(i, m, n); i++) {
            float d[BN / 2];
            // --8<-- [start:v14_ring]
            for (int k = 0; k < steps; k += STAGES)
#pragma unroll
                for (int s = 0; s < STAGES; s++) {  // the compiler knows s, and so all addresses of this stage
                    if (k + s >= steps) break;
                    barrier_wait(full + 8 * s, phases >> s & 1);
                    phases ^= 1 << s;
                    wgmma_fence();
#pragma unroll
                    for (int j = 0; j < 4; j++)  // 32 bytes of each row
                        wgmma(d, descriptor(As + s * A_BYTES + (group - 1) * PANEL) + 2 * j,
                              descriptor(Bs + s * B_BYTES) + 2 * j, k > 0 || s + j > 0);
                    wgmma_commit();
                    wgmma_wait<1>();
                    if (k + s > 0) release((s + STAGES - 1) % STAGES);
                }
            // --8<-- [end:v14_ring]
            wgmma_wait<0>();
            wgmma_done(d);
            release((steps - 1) % STAGES);
            const unsigned mine = Cs + (group - 1) * 2 * PANEL;
            if (OUT == 2)
                copy_floats(mine, m + (group - 1) * 64, n, d);
            else
                copy_sums(&maps[2], mine, m + (group - 1) * 64, n, d);
        }
        if (thread == 0) copies_done();
    }
    cluster_sync();  // no block leaves while another may still write to it
}
// --8<-- [end:v14]
