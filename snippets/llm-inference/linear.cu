// y = x Wᵀ + bias for up to 64 rows of x on tensor cores, and the other steps of a decoder, one row per new token.
// W has N rows of K weights in fp16, x has `rows` rows of K numbers in fp16; K is a multiple of 32. Sums are fp32.
// The program that compiles this file sets
//   EIGHTS   groups of eight rows of x, 1 to 8       HEAD  elements of a key
//   TILES    tiles of 16 rows of W per block, of the output layer
#include <cuda_fp16.h>

enum { LOGITS, GELU, RESIDUAL, CACHE };  // what becomes of y
constexpr int WARPS = 8, STEP = 32, AHEAD = 4;

// --8<-- [start:mma]
__device__ void mma(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
// --8<-- [end:mma]

// Where y goes: only what its use needs is set.
struct Outputs {
    float* wide;                              // LOGITS: y; RESIDUAL: y is added to it
    __half* half;                             // GELU: the activations; CACHE: the queries
    __half *keys, *values;                    // CACHE
    const int *tables, *sequence, *position;  // of each row: its pages, its sequence and its place in that
    int heads, kv_heads, most, page;          // page 0: the cache is contiguous
};

// --8<-- [start:put]
// Element n of row m of y. With CACHE, y is the queries of all heads, then the keys, then the values.
template <int use>
__device__ void put(const Outputs& to, int m, int n, int N, float y) {
    if (use == LOGITS) to.wide[(size_t)m * N + n] = y;
    if (use == RESIDUAL) to.wide[(size_t)m * N + n] += y;
    if (use == GELU) {
        float twice = 1.5957691f * (y + 0.044715f * y * y * y);
        to.half[(size_t)m * N + n] = __float2half(y / (1 + expf(-twice)));
    }
    if (use == CACHE) {
        int queries = to.heads * HEAD, wide = to.kv_heads * HEAD;
        if (n < queries) {
            to.half[(size_t)m * queries + n] = __float2half(y);
        } else {
            int head = (n - queries) % wide / HEAD, c = n % HEAD, j = to.position[m], s = to.sequence[m];
            size_t row = ((size_t)s * to.kv_heads + head) * to.most + j;
            if (to.page)
                row = ((size_t)to.tables[s * to.most + j / to.page] * to.kv_heads + head) * to.page + j % to.page;
            (n < queries + wide ? to.keys : to.values)[row * HEAD + c] = __float2half(y);
        }
    }
}
// --8<-- [end:put]

// --8<-- [start:linear]
// A block has tiles * 16 rows of W. Its warps share K: warp w takes steps w, w + 8, … of 32 elements. Their sums are
// added in shared memory, always in the same order, so a row of y has the same bits whatever other rows there are.
template <int use, int tiles>
__device__ void multiply(const __half* __restrict__ W, const __half* __restrict__ x, const float* bias,
                         const Outputs& to, int rows, int N, int K) {
    __shared__ float sums[WARPS][8 * EIGHTS][20];  // 20: the lanes of a store have banks of their own
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / 4, eight = lane % 4 * 8;
    float c[tiles][EIGHTS][4] = {};
    for (int k0 = warp * STEP; k0 < K; k0 += AHEAD * WARPS * STEP) {
        uint4 a[AHEAD][tiles][2];
#pragma unroll
        for (int s = 0; s < AHEAD; s++)
            for (int t = 0; t < tiles; t++)
                for (int i = 0; i < 2; i++) {  // all loads of weights first
                    int n = (blockIdx.x * tiles + t) * 16 + row + 8 * i, k = k0 + s * WARPS * STEP;
                    if (k < K) a[s][t][i] = *(const uint4*)(W + (size_t)min(n, N - 1) * K + k + eight);
                }
#pragma unroll
        for (int s = 0; s < AHEAD; s++) {
            int k = k0 + s * WARPS * STEP;
            if (k >= K) break;
            for (int g = 0; g < EIGHTS; g++) {
                uint4 b = *(const uint4*)(x + (size_t)min(row + 8 * g, rows - 1) * K + k + eight);
                for (int t = 0; t < tiles; t++) {
                    mma(c[t][g], a[s][t][0].x, a[s][t][1].x, a[s][t][0].y, a[s][t][1].y, b.x, b.y);
                    mma(c[t][g], a[s][t][0].z, a[s][t][1].z, a[s][t][0].w, a[s][t][1].w, b.z, b.w);
                }
            }
        }
    }
#pragma unroll
    for (int t = 0; t < tiles; t++) {
        for (int g = 0; g < EIGHTS; g++)
            for (int i = 0; i < 4; i++) sums[warp][8 * g + lane % 4 * 2 + i % 2][row + i / 2 * 8] = c[t][g][i];
        __syncthreads();
        for (int e = threadIdx.x; e < 16 * rows; e += 32 * WARPS) {
            int m = e / 16, n = (blockIdx.x * tiles + t) * 16 + e % 16;
            if (n >= N) continue;
            float y = bias ? bias[n] : 0;
            for (int w = 0; w < WARPS; w++) y += sums[w][m][e % 16];
            put<use>(to, m, n, N, y);
        }
        __syncthreads();
    }
}
// --8<-- [end:linear]

#define LINEAR(name, use, tiles)                                                                        \
    __global__ void __launch_bounds__(32 * WARPS)                                                       \
        name(const __half* W, const __half* x, const float* bias, Outputs to, int rows, int N, int K) { \
        multiply<use, tiles>(W, x, bias, to, rows, N, K);                                               \
    }

extern "C" {

LINEAR(linear_logits, LOGITS, TILES)
LINEAR(linear_gelu, GELU, 1)
LINEAR(linear_residual, RESIDUAL, 1)
LINEAR(linear_cache, CACHE, 1)

// --8<-- [start:rest]
// x = the embedding of each row's token and of its position. A block per row.
__global__ void embed(const __half* tokens, const __half* positions, const int* token, const int* position, float* x,
                      int width) {
    const size_t row = blockIdx.x, word = token[row], place = position[row];
    for (int c = threadIdx.x; c < width; c += blockDim.x)
        x[row * width + c] = __half2float(tokens[word * width + c]) + __half2float(positions[place * width + c]);
}

// y = LayerNorm of x, in fp16. A warp per row.
__global__ void normalise(const float* x, const float* gamma, const float* beta, __half* y, int rows, int width) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += (size_t)row * width, y += (size_t)row * width;
    float mean = 0, squares = 0;
    for (int c = lane; c < width; c += 32) mean += x[c];
    for (int apart = 16; apart; apart /= 2) mean += __shfl_xor_sync(0xffffffff, mean, apart);
    mean /= width;
    for (int c = lane; c < width; c += 32) squares += (x[c] - mean) * (x[c] - mean);
    for (int apart = 16; apart; apart /= 2) squares += __shfl_xor_sync(0xffffffff, squares, apart);
    float scale = rsqrtf(squares / width + 1e-5f);
    for (int c = lane; c < width; c += 32) y[c] = __float2half((x[c] - mean) * scale * gamma[c] + beta[c]);
}

// The next token of each row: the first of the largest logits. A block per row. `advance` moves the row on by one.
__global__ void pick(const float* logits, int* token, int* position, int* length, int vocabulary, int advance) {
    __shared__ float best[32];
    __shared__ int where[32];
    const int row = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    logits += (size_t)row * vocabulary;
    float top = -INFINITY;
    int at = 0;
    for (int n = threadIdx.x; n < vocabulary; n += blockDim.x)
        if (logits[n] > top) top = logits[n], at = n;
    for (int round = 0; round < 2; round++) {
        for (int apart = 16; apart; apart /= 2) {
            float other = __shfl_xor_sync(0xffffffff, top, apart);
            int there = __shfl_xor_sync(0xffffffff, at, apart);
            if (other > top || (other == top && there < at)) top = other, at = there;
        }
        if (round == 0) {
            if (lane == 0) best[warp] = top, where[warp] = at;
            __syncthreads();
            bool there = lane < blockDim.x / 32;
            top = there ? best[lane] : -INFINITY, at = there ? where[lane] : vocabulary;
        }
    }
    if (threadIdx.x == 0) token[row] = at, position[row] += advance, length[row] += advance;
}
// --8<-- [end:rest]
}
