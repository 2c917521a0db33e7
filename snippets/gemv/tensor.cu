// y = x Wᵀ on tensor cores: W has N rows of K weights in bf16, x has M rows of K numbers in bf16, `pitch` elements
// apart, and y has M rows of N sums in fp32; for any N, K >= 1. The program that compiles this file sets M, 1 to 16.

typedef unsigned short Bf16;                 // its bits
constexpr int GROUPS = (M + 7) / 8;          // of eight rows of x
constexpr int WARPS = 8, ROWS = 16 * WARPS;  // of W per block: 16 per warp
constexpr int STEP = 32, AHEAD = 4;          // elements of a row per step, and steps whose loads are in flight together
constexpr int CHUNK = AHEAD * STEP;          // the unit in which K is divided

template <bool B>
struct Constant {
    static constexpr bool value = B;
};

__device__ uint4 load8(const Bf16* p,
                       int left) {  // eight elements, of which `left` belong to the row; zeros after them
    unsigned words[4] = {};
    for (int i = 0; i < 8; i++)
        if (i < left) words[i / 2] |= (unsigned)p[i] << (i % 2 * 16);
    return {words[0], words[1], words[2], words[3]};
}

// --8<-- [start:mma]
// c (16 x 8) += a (16 x 16) b (16 x 8): every lane holds four pairs of a, two pairs of b and four sums.
__device__ void mma(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
// --8<-- [end:mma]

// --8<-- [start:multiply]
struct Sums {
    float of[GROUPS][4];
};

// 16 rows of W from `top` on, times x, for the elements from `from` to `to` of their rows.
__device__ Sums multiply(const Bf16* __restrict__ W, const Bf16* __restrict__ x, int N, int K, int pitch, int top,
                         int from, int to) {
    const int row = threadIdx.x % 32 / 4, eight = threadIdx.x % 4 * 8;  // the lane's row, and its 8 elements of 32
    const Bf16 *w[2], *v[GROUPS];
    for (int i = 0; i < 2; i++) w[i] = W + (size_t)min(top + row + 8 * i, N - 1) * K;
    for (int g = 0; g < GROUPS; g++) v[g] = x + (size_t)min(row + 8 * g, M - 1) * pitch;
    Sums sums = {};
    auto chunk = [&](auto whole, int k0) {
        uint4 a[AHEAD][2], b[AHEAD][GROUPS];
#pragma unroll
        for (int s = 0; s < AHEAD; s++) {
            const int k = k0 + s * STEP + eight;
            for (int i = 0; i < 2; i++) a[s][i] = whole.value ? *(const uint4*)(w[i] + k) : load8(w[i] + k, to - k);
            for (int g = 0; g < GROUPS; g++)
                b[s][g] = whole.value ? *(const uint4*)(v[g] + k) : load8(v[g] + k, to - k);
        }
#pragma unroll
        for (int s = 0; s < AHEAD; s++)
            for (int g = 0; g < GROUPS; g++) {  // any order along K will do, if it is the same in W and in x
                mma(sums.of[g], a[s][0].x, a[s][1].x, a[s][0].y, a[s][1].y, b[s][g].x, b[s][g].y);
                mma(sums.of[g], a[s][0].z, a[s][1].z, a[s][0].w, a[s][1].w, b[s][g].z, b[s][g].w);
            }
    };
    int k0 = from;
    if (K % 8 == 0 && pitch % 8 == 0)  // rows are multiples of 16 bytes
        for (; k0 + CHUNK <= to; k0 += CHUNK) chunk(Constant<true>{}, k0);
    for (; k0 < to; k0 += CHUNK) chunk(Constant<false>{}, k0);
    return sums;
}
// --8<-- [end:multiply]

// --8<-- [start:store]
// Calls put(m, n, sum) for each of the lane's sums that belongs to y.
template <class Put>
__device__ void each(const Sums& sums, int N, int top, Put put) {
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < 4; i++) {
            int m = 8 * g + threadIdx.x % 4 * 2 + i % 2, n = top + threadIdx.x % 32 / 4 + i / 2 * 8;
            if (m < M && n < N) put(m, n, sums.of[g][i]);
        }
}
// --8<-- [end:store]

extern "C" {

// --8<-- [start:v5]
__global__ void __launch_bounds__(32 * WARPS, 2)
    gemv_v5(const Bf16* __restrict__ W, const Bf16* __restrict__ x, float* y, int N, int K, int pitch) {
    const int top = blockIdx.x * ROWS + threadIdx.x / 32 * 16;
    each(multiply(W, x, N, K, pitch, top, 0, K), N, top, [&](int m, int n, float sum) { y[(size_t)m * N + n] = sum; });
}
// --8<-- [end:v5]

// --8<-- [start:v6]
// The part of K that belongs to split `i` of `splits`, in whole chunks.
__device__ int part(int K, int splits, int i) {
    return min(K, (int)((long long)((K + CHUNK - 1) / CHUNK) * i / splits) * CHUNK);
}

__global__ void __launch_bounds__(32 * WARPS, 2)
    gemv_v6(const Bf16* __restrict__ W, const Bf16* __restrict__ x, float* y, int N, int K, int pitch) {
    const int top = blockIdx.x * ROWS + threadIdx.x / 32 * 16, i = blockIdx.y, splits = gridDim.y;
    each(multiply(W, x, N, K, pitch, top, part(K, splits, i), part(K, splits, i + 1)), N, top,
         [&](int m, int n, float sum) { atomicAdd(y + (size_t)m * N + n, sum); });  // y was zeroed before
}
// --8<-- [end:v6]

// --8<-- [start:v7]
__global__ void __launch_bounds__(32 * WARPS, 2)
    gemv_v7(const Bf16* __restrict__ W, const Bf16* __restrict__ x, float* parts, int N, int K, int pitch) {
    const int top = blockIdx.x * ROWS + threadIdx.x / 32 * 16, i = blockIdx.y, splits = gridDim.y;
    each(multiply(W, x, N, K, pitch, top, part(K, splits, i), part(K, splits, i + 1)), N, top,
         [&](int m, int n, float sum) { parts[((size_t)i * M + m) * N + n] = sum; });
}

__global__ void fix_up(const float* __restrict__ parts, float* y, int N, int splits) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= M * N) return;
    float sum = 0;
    for (int i = 0; i < splits; i++) sum += parts[(size_t)i * M * N + e];  // always in the same order
    y[e] = sum;
}
// --8<-- [end:v7]

// --8<-- [start:v8]
// All chunks of all tiles of ROWS rows, one after another, are divided evenly; unit u is chunk u % chunks of tile u / chunks.
__device__ int first_unit(int units, int blocks, int b) { return (long long)units * b / blocks; }

__global__ void __launch_bounds__(32 * WARPS, 2)
    gemv_v8(const Bf16* __restrict__ W, const Bf16* __restrict__ x, float* y, float* parts, int N, int K, int pitch) {
    const int chunks = (K + CHUNK - 1) / CHUNK, units = (N + ROWS - 1) / ROWS * chunks;
    const int begin = first_unit(units, gridDim.x, blockIdx.x), end = first_unit(units, gridDim.x, blockIdx.x + 1);
    for (int unit = begin; unit < end;) {
        const int tile = unit / chunks, stop = min(end, (tile + 1) * chunks), inside = threadIdx.x / 32 * 16;
        const int top = tile * ROWS + inside, from = unit % chunks * CHUNK;
        const bool all = stop - unit == chunks;                                       // the tile is this block's alone
        float* mine = parts + ((size_t)blockIdx.x * 2 + (unit != begin)) * M * ROWS;  // of its first, or its last tile
        each(multiply(W, x, N, K, pitch, top, from, min(K, from + (stop - unit) * CHUNK)), N, top,
             [&](int m, int n, float sum) {
                 if (all)
                     y[(size_t)m * N + n] = sum;
                 else
                     mine[m * ROWS + n - tile * ROWS] = sum;
             });
        unit = stop;
    }
}

// blockIdx.x is a tile, blockIdx.y a row of x. Of a tile's blocks only the first can have begun before it.
__global__ void stream_fix_up(const float* __restrict__ parts, float* y, int N, int K, int blocks) {
    const int chunks = (K + CHUNK - 1) / CHUNK, units = (N + ROWS - 1) / ROWS * chunks;
    const int begin = blockIdx.x * chunks, end = begin + chunks, n = blockIdx.x * ROWS + threadIdx.x;
    int b = (long long)begin * blocks / units;  // the block that has unit `begin`, or the one before it
    if (first_unit(units, blocks, b + 1) <= begin) b++;
    const int e = blockIdx.y * ROWS + threadIdx.x, last = ((long long)end * blocks - 1) / units;
    const bool earlier = first_unit(units, blocks, b) < begin;
    if (n >= N || last == b) return;  // one block had all of the tile
    float sum = parts[((size_t)b * 2 + earlier) * M * ROWS + e];
    for (int i = b + 1; i <= last; i++) sum += parts[(size_t)i * 2 * M * ROWS + e];
    y[(size_t)blockIdx.y * N + n] = sum;
}
// --8<-- [end:v8]
}
