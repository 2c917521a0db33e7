// The implicit GEMM in fp16 that fetches each input once, for sm_90a: 3 x 3 taps, stride 1, 64 channels in, filters in multiples of
// 64. A warpgroup keeps the inputs of a tile of outputs and their border (the halo) in shared memory, and the nine matrices that the
// taps multiply are nine views of it. The product is transposed: 64 filters times the 112 outputs of a tile.

// Barriers, descriptors and wgmma, in fp16.
#define ELEMENT 2
#define OUT 1
#define WGMMA_TYPE "k16.f32.f16.f16"
#define WGMMA_FLAGS ", 1, 1, 0, 0"
#include "../matmul-tensor/hopper.cuh"
#define BN 64
#define STAGES 2
#include "half.cuh"

constexpr int TAPS = 3, ACROSS = 8, DOWN = 14, OUTPUTS = ACROSS * DOWN, TEAMS = 3;  // TEAMS: warpgroups of a block
constexpr int HALO_W = ACROSS + TAPS - 1, HALO_H = DOWN + TAPS - 1, CELLS = HALO_W * HALO_H;
// --8<-- [start:layout]
// A halo is eight planes, of 8 channels each, with 16 bytes per cell. A cell more per plane: the eight lanes that copy a cell's
// channels write to different banks.
constexpr int PLANE = (CELLS + 1) * 16, HALO = 8 * PLANE, WEIGHTS = TAPS * TAPS * 64 * 128;

// Rows of 16 bytes, eight of them in a row of the tile. Strides in 16 bytes: to the next 8 channels, to the next row of the tile.
__device__ __forceinline__ u64 halo_view(unsigned at) {
    return (at & 0x3ffff) >> 4 | (u64)(PLANE / 16) << 16 | (u64)HALO_W << 32;
}
// --8<-- [end:layout]
#define EIGHT(d, i) FOUR(d, i), FOUR(d, i + 4)
__device__ __forceinline__ void wgmma(float (&d)[56], u64 a, u64 b, int add) {  // 64 x 112 sums, 16 products each
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %58, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n112" WGMMA_TYPE
        " "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55}, "
        "%56, %57, p" WGMMA_FLAGS ";\n}"
        : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48)
        : "l"(a), "l"(b), "r"(add));
}
__device__ __forceinline__ void copies_arrived() {  // this thread's, and wgmma sees them
    asm volatile("cp.async.wait_all;\nfence.proxy.async.shared::cta;" ::: "memory");
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
// A tile's halo; zeros where the image ends. A warp copies four cells at a time, each lane 8 channels.
__device__ __forceinline__ void fetch(const Shape& s, const half* x, Place at, unsigned to) {
    const int t = threadIdx.x % 128, chunk = t % 8;
#pragma unroll
    for (int cell = t / 8; cell < CELLS; cell += 16) {
        const int h = at.p - s.pad_h + cell / HALO_W, v = at.q - s.pad_w + cell % HALO_W;
        const bool in = (unsigned)h < s.H && (unsigned)v < s.W;
        const half* from = in ? x + ((size_t)(at.image * s.H + h) * s.W + v) * 64 + chunk * 8 : x;
        async16(to + chunk * PLANE + cell * 16, from, in);
    }
}
// --8<-- [end:fetch]

// --8<-- [start:multiply]
__device__ __forceinline__ void multiply(float (&d)[56], unsigned weights, unsigned halo) {
    wgmma_fence();
#pragma unroll
    for (int tap = 0; tap < TAPS * TAPS; tap++)
#pragma unroll
        for (int k = 0; k < 4; k++)  // 16 of the 64 channels: two planes
            wgmma(d, descriptor(weights + tap * 64 * 128) + 2 * k,
                  halo_view(halo + 2 * k * PLANE + (tap / TAPS * HALO_W + tap % TAPS) * 16), tap + k > 0);
    wgmma_commit();
}
// --8<-- [end:multiply]

// From sums with a filter per row to outputs with their 64 filters side by side: by way of shared memory, transposed on the way in.
__device__ __forceinline__ void store(const Shape& s, half* y, Place at, unsigned room, const float (&d)[56],
                                      int team) {
    const int t = threadIdx.x % 128, warp = t / 32, lane = t % 32;
#pragma unroll
    for (int row = 0; row < DOWN; row += 2) {
        const int output = (row + lane / 16) * ACROSS + lane % 8;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                         room + chunk_at(output, 2 * warp + lane / 8 % 2)),
                     "r"(pack(d[4 * row], d[4 * row + 1])), "r"(pack(d[4 * row + 2], d[4 * row + 3])),
                     "r"(pack(d[4 * row + 4], d[4 * row + 5])), "r"(pack(d[4 * row + 6], d[4 * row + 7]))
                     : "memory");
    }
    team_sync(team);
#pragma unroll
    for (int i = 0; i < OUTPUTS / 16; i++) {
        const int output = t / 8 + 16 * i, chunk = t % 8, p = at.p + output / ACROSS, q = at.q + output % ACROSS;
        uint4 eight;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(eight.x), "=r"(eight.y), "=r"(eight.z), "=r"(eight.w)
                     : "r"(room + chunk_at(output, chunk))
                     : "memory");
        if (p < s.P && q < s.Q) __stwb((uint4*)(y + ((size_t)(at.image * s.P + p) * s.Q + q) * s.K + chunk * 8), eight);
    }
}

// --8<-- [start:halo]
extern "C" __global__ void __launch_bounds__(TEAMS * 128) conv_halo(Shape s, const half* x, const half* w, half* y) {
    const unsigned weights = shared_address(memory);
    const int team = threadIdx.x / 128, step = gridDim.x * TEAMS;
    const int tiles = s.N * ((s.P + DOWN - 1) / DOWN) * ((s.Q + ACROSS - 1) / ACROSS);
    unsigned halo = weights + WEIGHTS + team * 2 * HALO, other = halo + HALO;
    w += (size_t)blockIdx.y * 64 * TAPS * TAPS * 64, y += blockIdx.y * 64;

    for (int i = threadIdx.x; i < WEIGHTS / 16; i += TEAMS * 128) {  // stay for all tiles; w[k][tap][c]
        const int chunk = i % 8, filter = i / 8 % 64, tap = i / 512;
        async16(weights + tap * 64 * 128 + chunk_at(filter, chunk), w + (filter * TAPS * TAPS + tap) * 64 + chunk * 8,
                true);
    }
    int tile = blockIdx.x + gridDim.x * team;  // the teams of an SM are as busy as those of the next
    if (tile < tiles) fetch(s, x, place_of(s, tile), halo);
    copies_arrived();
    __syncthreads();
    for (; tile < tiles; tile += step) {
        float d[56];
        multiply(d, weights, halo);
        if (tile + step < tiles) fetch(s, x, place_of(s, tile + step), other);  // while they run
        wgmma_wait<0>();
        wgmma_done(d);
        team_sync(team);  // no warp's products read this halo any more: it becomes the way out
        store(s, y, place_of(s, tile), halo, d, team);
        copies_arrived();
        team_sync(team);  // the next halo is there, and this one has been read
        const unsigned free = halo;
        halo = other, other = free;
    }
}
// --8<-- [end:halo]
