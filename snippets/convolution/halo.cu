// The implicit GEMM in fp16 that fetches each input once, for sm_90a: 3 x 3 taps, stride 1, 64 channels in, filters in multiples of
// 64. A warpgroup keeps the inputs of a tile of outputs and their border (the halo) in shared memory, and the nine matrices that the
// taps multiply are nine views of it. The product is transposed: 64 filters times the 112 outputs of a tile.

// Copy engine, barriers and wgmma, in fp16. The maps are of x, of the filters as rows, and of y.
#define ELEMENT 2
#define OUT 1
#define WGMMA_TYPE "k16.f32.f16.f16"
#define WGMMA_FLAGS ", 1, 1, 0, 0"
#include "../matmul-tensor/hopper.cuh"
#define BN 64
#define STAGES 2
#include "half.cuh"

constexpr int TAPS = 3, ACROSS = 8, DOWN = 14, TEAMS = 2;  // a tile; warpgroups of a block
constexpr int HALO_W = ACROSS + TAPS - 1, HALO_H = DOWN + TAPS - 1;
// --8<-- [start:layout]
// A halo has a row of 128 bytes per cell: 64 channels, in chunks of 16 bytes that the copy engine swizzles.
constexpr int HALO = HALO_W * HALO_H * 128, TAP = 64 * 128, FILTERS = TAPS * TAPS * TAP;

// A matrix whose rows are cells from `at` on: eight side by side, the next eight in the next row of the halo. Counts in 16 bytes.
__device__ __forceinline__ u64 halo_view(unsigned at) {
    return (at & 0x3ffff) >> 4 | 1ull << 16 | (u64)(HALO_W * 128 / 16) << 32 | 1ull << 62;
}
// --8<-- [end:layout]
#define EIGHT(d, i) FOUR(d, i), FOUR(d, i + 4)
// 64 x 112 sums, 16 products each; this thread's share of the 64 x 16 weights is in registers.
__device__ __forceinline__ void wgmma(float (&d)[56], const unsigned (&a)[4], u64 b, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %61, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n112" WGMMA_TYPE
        " "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55}, "
        "{%56, %57, %58, %59}, %60, p, 1, 1, 0;\n}"
        : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
__device__ __forceinline__ void team_sync(int team) { asm volatile("bar.sync %0, 128;" ::"r"(team + 1) : "memory"); }

struct Place {
    int image, p, q;  // of a tile's first output
};
__device__ __forceinline__ Place place_of(const Shape& s, int tile) {
    const int across = (s.Q + ACROSS - 1) / ACROSS, down = (s.P + DOWN - 1) / DOWN;
    return {tile / across / down, tile / across % down * DOWN, tile % across * ACROSS};
}

// --8<-- [start:fetch]
// A tile's halo in one copy, begun by one thread. What lies outside of the image arrives as zeros: the padding.
__device__ __forceinline__ void fetch(const Shape& s, Place at, unsigned to, unsigned barrier) {
    barrier_expect(barrier, HALO);
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
        "[%6];" ::"r"(to),
        "l"(maps), "r"(0), "r"(at.q - s.pad_w), "r"(at.p - s.pad_h), "r"(at.image), "r"(barrier)
        : "memory");
}
// A tile of outputs back; what lies outside of the image is not written.
__device__ __forceinline__ void store(Place at, int filter, unsigned from) {
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];\n"
        "cp.async.bulk.commit_group;" ::"l"(maps + 2),
        "r"(filter), "r"(at.q), "r"(at.p), "r"(at.image), "r"(from)
        : "memory");
}
__device__ __forceinline__ void stores_left() {  // shared memory; this thread's
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
// --8<-- [end:fetch]

// The weights of nine taps, as operands of wgmma: `filters` are 64 rows of 64 channels per tap.
__device__ __forceinline__ void load_filters(unsigned (&a)[36][4], unsigned filters) {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane % 16;
#pragma unroll
    for (int i = 0; i < 36; i++)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3])
                     : "r"(filters + i / 4 * TAP + chunk_at(row, i % 4 * 2 + lane / 16))
                     : "memory");
}

// --8<-- [start:multiply]
__device__ __forceinline__ void multiply(float (&d)[56], const unsigned (&a)[36][4], unsigned halo) {
    wgmma_fence();
#pragma unroll
    for (int tap = 0; tap < TAPS * TAPS; tap++)
#pragma unroll
        for (int k = 0; k < 4; k++)  // 16 of the 64 channels, 32 bytes
            wgmma(d, a[4 * tap + k], halo_view(halo + (tap / TAPS * HALO_W + tap % TAPS) * 128) + 2 * k, tap + k > 0);
    wgmma_commit();
}
// --8<-- [end:multiply]

// From sums with a filter per row to outputs with their 64 filters side by side: transposed on the way into shared memory.
__device__ __forceinline__ void put_sums(unsigned room, const float (&d)[56]) {
    const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int row = 0; row < DOWN; row += 2) {
        const int output = (row + lane / 16) * ACROSS + lane % 8;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                         room + chunk_at(output, 2 * warp + lane / 8 % 2)),
                     "r"(pack(d[4 * row], d[4 * row + 1])), "r"(pack(d[4 * row + 2], d[4 * row + 3])),
                     "r"(pack(d[4 * row + 4], d[4 * row + 5])), "r"(pack(d[4 * row + 6], d[4 * row + 7]))
                     : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the copy engine sees them
}

// --8<-- [start:halo]
extern "C" __global__ void __launch_bounds__(TEAMS * 128) conv_halo(Shape s) {
    const int team = __shfl_sync(~0u, threadIdx.x / 128, 0);  // as a shuffle: ptxas learns that a warp has only one
    const bool leads = threadIdx.x % 128 == 0;
    const unsigned filters = shared_address(memory), halos = filters + FILTERS + team * 2 * HALO;
    const unsigned here = filters + FILTERS + TEAMS * 2 * HALO, full = here + 8 + team * 16;  // barriers
    const int tiles = s.N * ((s.P + DOWN - 1) / DOWN) * ((s.Q + ACROSS - 1) / ACROSS), step = gridDim.x * TEAMS;
    int tile = blockIdx.x + gridDim.x * team;  // the teams of an SM are as busy as those of the next

    if (threadIdx.x == 0) {
        for (int i = 0; i < 1 + 2 * TEAMS; i++) barrier_init(here + 8 * i, 1);
        barrier_init_done();
        barrier_expect(here, FILTERS);
        for (int tap = 0; tap < TAPS * TAPS; tap++)
            tile_load(filters + tap * TAP, maps + 1, tap * 64, blockIdx.y * 64, here);
    }
    __syncthreads();
    if (leads && tile < tiles) fetch(s, place_of(s, tile), halos, full);
    unsigned a[36][4];  // this thread's weights, for all tiles
    barrier_wait(here, 0);
    load_filters(a, filters);
    for (int i = 0; tile < tiles; tile += step, i++) {
        const int turn = i % 2;
        const unsigned halo = halos + turn * HALO;
        float d[56];
        barrier_wait(full + 8 * turn, i / 2 % 2);
        multiply(d, a, halo);
        if (leads && tile + step < tiles) {  // while they run
            stores_left();                   // from where the next halo goes
            fetch(s, place_of(s, tile + step), halos + (1 - turn) * HALO, full + 8 * (1 - turn));
        }
        __syncwarp();  // its first lane may have been away
        wgmma_wait<0>();
        wgmma_done(d);
        team_sync(team);  // no warp's products read this halo any more: it becomes the way out
        put_sums(halo, d);
        team_sync(team);
        if (leads) store(place_of(s, tile), blockIdx.y * 64, halo);
    }
    if (leads) copies_done();
}
// --8<-- [end:halo]
