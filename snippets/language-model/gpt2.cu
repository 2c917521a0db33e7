// What stands between the products of the larger model, each in one pass over memory, bf16 in and out, sums in fp32:
//
//   embed, embed_backward, position_backward   tokens and positions
//   norm_forward, norm_backward                LayerNorm; a warp has a row of WIDTH channels in registers
//   column_sums, add_lines                     gradients of biases and gains: partial sums, then their sums in a fixed order
//   classify_backward                          a row of logits becomes its gradient in place; the loss of the row
//
// No kernel has an atomic: each run gives the same bits.
#ifndef WIDTH
#define WIDTH 768     // channels, a multiple of 64
#define THREADS 1024  // of a row of logits
#define PACKS 7       // of eight logits in a thread's registers: 8 * PACKS * THREADS is at least the row
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
__global__ void norm_forward(const bf16* x, const bf16* gain, const bf16* bias, bf16* y, float* mean, float* scale,
                             int rows) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    Row s(x + (size_t)row * WIDTH);
    float m = 0, squares = 0;
#pragma unroll
    for (int k = 0; k < SHARE; ++k)
        for (float v : s.v[k]) m += v;
    m = sum_of_warp(m) / WIDTH;
#pragma unroll
    for (int k = 0; k < SHARE; ++k)
        for (float& v : s.v[k]) {
            v = Row::exists(k) ? v - m : 0;
            squares += v * v;
        }
    const float f = rsqrtf(sum_of_warp(squares) / WIDTH + EPSILON);
    Row g(gain), b(bias);
#pragma unroll
    for (int k = 0; k < SHARE; ++k)
        for (int i = 0; i < 8; ++i) s.v[k][i] = s.v[k][i] * f * g.v[k][i] + b.v[k][i];
    s.store(y + (size_t)row * WIDTH);
    if (threadIdx.x == 0) mean[row] = m, scale[row] = f;
}

// Each warp has every so many-th row. What comes through the layer is added to the stream's gradient if `more`; the sums for
// gain and bias of its rows are a line of `partial`, those of the biases behind all those of the gains.
__global__ void norm_backward(const bf16* dy, const bf16* x, const bf16* gain, const float* mean, const float* scale,
                              bf16* dx, float* partial, int rows, int more) {
    const int line = blockIdx.x * blockDim.y + threadIdx.y, lines = gridDim.x * blockDim.y;
    float dgain[SHARE][8] = {}, dbias[SHARE][8] = {};
    Row g(gain);
    for (int row = line; row < rows; row += lines) {
        Row d(dy + (size_t)row * WIDTH), s(x + (size_t)row * WIDTH);
        const float m = mean[row], f = scale[row];
        float level = 0, tilt = 0;
#pragma unroll
        for (int k = 0; k < SHARE; ++k)
            for (int i = 0; i < 8; ++i) {
                const float unit = (s.v[k][i] - m) * f, up = d.v[k][i];
                dgain[k][i] += up * unit;
                dbias[k][i] += up;
                s.v[k][i] = unit;
                d.v[k][i] = up * g.v[k][i];
                level += d.v[k][i];
                tilt += d.v[k][i] * unit;
            }
        level = sum_of_warp(level) / WIDTH;
        tilt = sum_of_warp(tilt) / WIDTH;
        bf16* to = dx + (size_t)row * WIDTH;
        if (more) {
            Row around(to);
#pragma unroll
            for (int k = 0; k < SHARE; ++k)
                for (int i = 0; i < 8; ++i) d.v[k][i] = around.v[k][i] + f * (d.v[k][i] - level - s.v[k][i] * tilt);
        } else {
#pragma unroll
            for (int k = 0; k < SHARE; ++k)
                for (int i = 0; i < 8; ++i) d.v[k][i] = f * (d.v[k][i] - level - s.v[k][i] * tilt);
        }
        d.store(to);
    }
#pragma unroll
    for (int k = 0; k < SHARE; ++k)
        if (Row::exists(k))
            for (int i = 0; i < 8; ++i) {
                partial[(size_t)line * WIDTH + Row::at(k) + i] = dgain[k][i];
                partial[(size_t)(lines + line) * WIDTH + Row::at(k) + i] = dbias[k][i];
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

// --8<-- [start:classify]
// Of a row of `padded` logits, the first n exist; the others get the gradient 0. `share` is 1 / the number of all tokens.
__global__ void __launch_bounds__(THREADS)
    classify_backward(bf16* logits, const int* target, float* loss, int n, int padded, float share) {
    __shared__ float of_warp[2][THREADS / 32];
    Eight* row = (Eight*)(logits + (size_t)blockIdx.x * padded);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, wanted = target[blockIdx.x];
    Eight held[PACKS];  // the row stays in registers: it is read once
    float top = LOWEST, sum = 0, v[8];
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const int pack = k * THREADS + threadIdx.x;
        if (8 * pack >= padded) break;
        held[k] = row[pack];
        held[k].open(v);
        for (int i = 0; i < 8; ++i)
            if (8 * pack + i < n) top = fmaxf(top, v[i]);
    }
    top = max_of_warp(top);
    if (lane == 0) of_warp[0][warp] = top;
    __syncthreads();
    top = max_of_warp(lane < THREADS / 32 ? of_warp[0][lane] : LOWEST);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const int pack = k * THREADS + threadIdx.x;
        if (8 * pack >= padded) break;
        held[k].open(v);
        for (int i = 0; i < 8; ++i)
            if (8 * pack + i < n) sum += __expf(v[i] - top);
    }
    sum = sum_of_warp(sum);
    if (lane == 0) of_warp[1][warp] = sum;
    __syncthreads();
    sum = sum_of_warp(lane < THREADS / 32 ? of_warp[1][lane] : 0);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const int pack = k * THREADS + threadIdx.x;
        if (8 * pack >= padded) break;
        held[k].open(v);
        for (int i = 0; i < 8; ++i) {
            const int c = 8 * pack + i;
            if (c == wanted) loss[blockIdx.x] = logf(sum) + top - v[i];
            v[i] = c < n ? share * (__expf(v[i] - top) / sum - (c == wanted)) : 0;
        }
        held[k].close(v);
        row[pack] = held[k];
    }
}
// --8<-- [end:classify]

}  // extern "C"
