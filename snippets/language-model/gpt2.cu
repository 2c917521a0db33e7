// What stands between the products of the larger model, each in one pass over memory, bf16 in and out, sums in fp32:
//
//   embed, embed_backward, position_backward   tokens and positions
//   norm_forward, norm_backward                LayerNorm; a warp has a row of WIDTH channels in registers
//   column_sums, add_lines                     gradients of biases and gains: partial sums, then their sums in a fixed order
//   attention_delta                            what attention's backward pass needs of each row
//   classify_backward                          a row of logits becomes its gradient in place; the loss of the row
//
// No kernel has an atomic: each run gives the same bits.
#ifndef WIDTH
#define WIDTH 768    // channels, a multiple of 64
#define THREADS 640  // of a row of logits
#endif
#include "gpt2.cuh"

typedef __nv_bfloat16 bf16;
constexpr unsigned ALL = 0xffffffff;
constexpr float EPSILON = 1e-5f, LOWEST = -3.402823466e38f;
constexpr int SHARE = (WIDTH + 255) / 256;  // packs of a row in a lane

// --8<-- [start:eight]
struct alignas(16) Eight {
    __nv_bfloat162 v[4];

    __device__ void open(float (&to)[8]) const {
        for (int i = 0; i < 4; ++i) to[2 * i] = __low2float(v[i]), to[2 * i + 1] = __high2float(v[i]);
    }
    __device__ void close(const float (&from)[8]) {
        for (int i = 0; i < 4; ++i) v[i] = __floats2bfloat162_rn(from[2 * i], from[2 * i + 1]);
    }
};
// --8<-- [end:eight]

__device__ float sum_of_warp(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(ALL, v, d);
    return v;
}
__device__ float max_of_warp(float v) {
    for (int d = 16; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(ALL, v, d));
    return v;
}

// A row in the registers of a warp: zeros beyond it.
struct Row {
    float v[SHARE][8] = {};

    __device__ static int at(int k) { return k * 256 + threadIdx.x % 32 * 8; }
    __device__ static bool exists(int k) { return at(k) < WIDTH; }
    __device__ Row(const bf16* from) {
#pragma unroll
        for (int k = 0; k < SHARE; ++k)
            if (exists(k)) ((const Eight*)(from + at(k)))->open(v[k]);
    }
    __device__ void store(bf16* to) const {
#pragma unroll
        for (int k = 0; k < SHARE; ++k)
            if (exists(k)) ((Eight*)(to + at(k)))->close(v[k]);
    }
};

// The same as they lie in memory, at half the registers; zeros if not `wanted`.
struct Packs {
    Eight v[SHARE] = {};

    __device__ Packs(const bf16* from, bool wanted = true) {
#pragma unroll
        for (int k = 0; k < SHARE; ++k)
            if (Row::exists(k) && wanted) v[k] = *(const Eight*)(from + Row::at(k));
    }
    // What was computed from them is computed again: keeping it would take twice the registers.
    __device__ void recompute() {
#pragma unroll
        for (int k = 0; k < SHARE; ++k)
            for (__nv_bfloat162& two : v[k].v) asm volatile("" : "+r"(*(unsigned*)&two));
    }
};

extern "C" {

// --8<-- [start:embed]
__global__ void embed(const bf16* table, const bf16* positions, const int* tokens, bf16* x, int rows, int time) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    Row sum(table + (size_t)tokens[row] * WIDTH), place(positions + (size_t)(row % time) * WIDTH);
#pragma unroll
    for (int k = 0; k < SHARE; ++k)
        for (int i = 0; i < 8; ++i) sum.v[k][i] += place.v[k][i];
    sum.store(x + (size_t)row * WIDTH);
}

// A block has a token. order[begin[t]] to order[begin[t + 1] - 1] are its rows; what the logits left in the gradient stays.
__global__ void embed_backward(const bf16* dx, const int* order, const int* begin, float* dtable) {
    const int t = blockIdx.x, first = begin[t], last = begin[t + 1];
    if (first == last) return;
    for (int c = threadIdx.x; c < WIDTH; c += blockDim.x) {
        float sum = 0;
        for (int k = first; k < last; ++k) sum += __bfloat162float(dx[(size_t)order[k] * WIDTH + c]);
        dtable[(size_t)t * WIDTH + c] += sum;
    }
}

// A block has a position, and adds it up over the sequences.
__global__ void position_backward(const bf16* dx, float* dpositions, int sequences, int time) {
    for (int c = threadIdx.x; c < WIDTH; c += blockDim.x) {
        float sum = 0;
        for (int s = 0; s < sequences; ++s) sum += __bfloat162float(dx[((size_t)s * time + blockIdx.x) * WIDTH + c]);
        dpositions[(size_t)blockIdx.x * WIDTH + c] = sum;
    }
}
// --8<-- [end:embed]

// --8<-- [start:norm]
__global__ void __launch_bounds__(256, 4)
    norm_forward(const bf16* x, const bf16* gain, const bf16* bias, bf16* y, float* mean, float* scale, int rows) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    Packs s(x + (size_t)row * WIDTH);
    const Packs g(gain), b(bias);
    float m = 0, squares = 0, v[8], gains[8], biases[8];
#pragma unroll
    for (int k = 0; k < SHARE; ++k) {
        s.v[k].open(v);
        for (float one : v) m += one;
    }
    m = sum_of_warp(m) / WIDTH;
    s.recompute();
#pragma unroll
    for (int k = 0; k < SHARE; ++k) {
        s.v[k].open(v);
        for (float one : v)
            if (Row::exists(k)) squares += (one - m) * (one - m);
    }
    const float f = rsqrtf(sum_of_warp(squares) / WIDTH + EPSILON);
    s.recompute();
#pragma unroll
    for (int k = 0; k < SHARE; ++k) {
        s.v[k].open(v), g.v[k].open(gains), b.v[k].open(biases);
        for (int i = 0; i < 8; ++i) v[i] = (v[i] - m) * f * gains[i] + biases[i];
        s.v[k].close(v);
        if (Row::exists(k)) *(Eight*)(y + (size_t)row * WIDTH + Row::at(k)) = s.v[k];
    }
    if (threadIdx.x == 0) mean[row] = m, scale[row] = f;
}

// Eight warps have every so many-th row each. What comes through the layer is added to the stream's gradient if `more`. A block's
// sums for the gain are a line of `partial`, and those for the bias a line behind all those.
__global__ void __launch_bounds__(256, 2)
    norm_backward(const bf16* dy, const bf16* x, const bf16* gain, const float* mean, const float* scale, bf16* dx,
                  float* partial, int rows, int more) {
    __shared__ float sums[8][256];
    float dgain[SHARE][8] = {}, dbias[SHARE][8] = {};
    Packs g(gain);
    for (int row = blockIdx.x * 8 + threadIdx.y; row < rows; row += gridDim.x * 8) {
        const size_t at = (size_t)row * WIDTH;
        Packs d(dy + at), s(x + at);  // as bf16 until they are needed: all loads are under way at once
        Packs to(dx + at, more);
        const float m = mean[row], f = scale[row];
        float level = 0, tilt = 0, v[8], up[8], gains[8];
#pragma unroll
        for (int k = 0; k < SHARE; ++k) {
            s.v[k].open(v), d.v[k].open(up), g.v[k].open(gains);
            for (int i = 0; i < 8; ++i) {
                const float unit = (v[i] - m) * f;
                dgain[k][i] += up[i] * unit;
                dbias[k][i] += up[i];
                level += up[i] * gains[i];
                tilt += up[i] * gains[i] * unit;
            }
        }
        level = sum_of_warp(level) / WIDTH;
        tilt = sum_of_warp(tilt) / WIDTH;
        d.recompute(), s.recompute(), g.recompute();
#pragma unroll
        for (int k = 0; k < SHARE; ++k) {
            float around[8];
            s.v[k].open(v), d.v[k].open(up), g.v[k].open(gains), to.v[k].open(around);
            for (int i = 0; i < 8; ++i) around[i] = around[i] + f * (up[i] * gains[i] - level - (v[i] - m) * f * tilt);
            to.v[k].close(around);
            if (Row::exists(k)) *(Eight*)(dx + at + Row::at(k)) = to.v[k];
        }
    }
#pragma unroll
    for (int part = 0; part < 2 * SHARE; ++part) {  // 256 columns of the gain's sums or of the bias's
        const int k = part / 2, column = threadIdx.y * 32 + threadIdx.x;
        for (int i = 0; i < 8; ++i) sums[threadIdx.y][threadIdx.x * 8 + i] = part % 2 ? dbias[k][i] : dgain[k][i];
        __syncthreads();
        float sum = 0;
        for (int warp = 0; warp < 8; ++warp) sum += sums[warp][column];
        if (k * 256 + column < WIDTH)
            partial[(size_t)(part % 2 * gridDim.x + blockIdx.x) * WIDTH + k * 256 + column] = sum;
        __syncthreads();
    }
}
// --8<-- [end:norm]

// --8<-- [start:columns]
// A line of `partial` per blockIdx.y: the sums of 64 columns over its share of the rows, by 32 x 8 threads.
__global__ void column_sums(const bf16* y, float* partial, int rows, int n, int in_heads, Heads heads) {
    __shared__ float2 sums[8][32];
    const int each = (rows + gridDim.y - 1) / gridDim.y, first = blockIdx.y * each, last = min(first + each, rows);
    float2 sum = {0, 0};
    for (int row = first + threadIdx.y; row < last; row += 8) {
        const size_t at = in_heads ? (size_t)heads.line(row, blockIdx.x) * 64 : (size_t)row * n + blockIdx.x * 64;
        const float2 two = __bfloat1622float2(*(const __nv_bfloat162*)(y + at + 2 * threadIdx.x));
        sum.x += two.x, sum.y += two.y;
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0) return;
    for (int i = 1; i < 8; ++i) sum.x += sums[i][threadIdx.x].x, sum.y += sums[i][threadIdx.x].y;
    *(float2*)(partial + (size_t)blockIdx.y * n + blockIdx.x * 64 + 2 * threadIdx.x) = sum;
}

// out[blockIdx.y][c] = the sum over `lines` lines of n numbers, for 32 columns per block of 32 x 32 threads.
__global__ void add_lines(const float* partial, float* out, int lines, int n) {
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x;
    float s = 0;
    if (c < n)
        for (int i = threadIdx.y; i < lines; i += 32) s += partial[((size_t)blockIdx.y * lines + i) * n + c];
    tile[threadIdx.y][threadIdx.x] = s;
    __syncthreads();
    s = sum_of_warp(tile[threadIdx.x][threadIdx.y]);  // a warp has a column now
    c = blockIdx.x * 32 + threadIdx.y;
    if (threadIdx.x == 0 && c < n) out[(size_t)blockIdx.y * n + c] = s;
}

// The parts of a weight's gradient, each n numbers.
__global__ void add_parts(const float4* partial, float4* out, int parts, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i >= n) return;
    float4 sum = partial[i];
    for (int k = 1; k < parts; ++k) {
        const float4 next = partial[(size_t)k * (n / 4) + i];
        sum.x += next.x, sum.y += next.y, sum.z += next.z, sum.w += next.w;
    }
    out[i] = sum;
}
// --8<-- [end:columns]

// --8<-- [start:delta]
// For attention's backward pass: the dot product of a row of dO and of O, 64 channels each; eight threads have a row.
__global__ void attention_delta(const Eight* out, const Eight* dout, float* delta, int rows) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8] = {}, b[8] = {}, sum = 0;
    if (i / 8 < rows) out[i].open(a), dout[i].open(b);
    for (int k = 0; k < 8; ++k) sum += a[k] * b[k];
    for (int d = 4; d > 0; d /= 2) sum += __shfl_xor_sync(ALL, sum, d);
    if (i % 8 == 0 && i / 8 < rows) delta[i / 8] = sum;
}
// --8<-- [end:delta]

// --8<-- [start:classify]
// Of a row of `padded` logits, the first n exist; the others get the gradient 0. `share` is 1 / the number of all tokens. The
// row waits in shared memory, each pack for the thread that fetched it, so that an SM has room for two rows: one loads while
// the other computes.
__global__ void __launch_bounds__(THREADS, 2)
    classify_backward(bf16* logits, const int* target, float* loss, int n, int padded, float share) {
    extern __shared__ Eight held[];
    __shared__ float of_warp[2][THREADS / 32];
    bf16* row = logits + (size_t)blockIdx.x * padded;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, packs = padded / 8, wanted = target[blockIdx.x];
    for (int p = threadIdx.x; p < packs; p += THREADS)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(held + p)),
                     "l"(row + 8 * p)
                     : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    float top = LOWEST, sum = 0, v[8];
    for (int p = threadIdx.x; p < packs; p += THREADS) {
        for (int i = max(0, n - 8 * p); i < 8; ++i) ((bf16*)(held + p))[i] = __float2bfloat16(-INFINITY);
        held[p].open(v);
        for (float one : v) top = fmaxf(top, one);
    }
    top = max_of_warp(top);
    if (lane == 0) of_warp[0][warp] = top;
    __syncthreads();
    top = max_of_warp(lane < THREADS / 32 ? of_warp[0][lane] : LOWEST);
    for (int p = threadIdx.x; p < packs; p += THREADS) {
        held[p].open(v);
        for (float one : v) sum += power_of_two(LOG2_E * (one - top));
    }
    sum = sum_of_warp(sum);
    if (lane == 0) of_warp[1][warp] = sum;
    __syncthreads();
    sum = sum_of_warp(lane < THREADS / 32 ? of_warp[1][lane] : 0);
    const float factor = share / sum;
    for (int p = threadIdx.x; p < packs; p += THREADS) {
        Eight pack = held[p];
        pack.open(v);
        for (float& one : v) one = factor * power_of_two(LOG2_E * (one - top));
        pack.close(v);
        ((Eight*)row)[p] = pack;
    }
    if (threadIdx.x != wanted / 8 % THREADS)
        return;  // who wrote the target's gradient writes it again, as it should be
    const float its = __bfloat162float(((const bf16*)held)[wanted]) - top;
    loss[blockIdx.x] = logf(sum) - its;
    row[wanted] = __float2bfloat16(factor * power_of_two(LOG2_E * its) - share);
}
// --8<-- [end:classify]

}  // extern "C"
