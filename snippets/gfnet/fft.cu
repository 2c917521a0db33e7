// 2-D FFT of a batch of N × N complex images, N a power of two: a pass over the columns, then a pass over the rows.
//
//   dft       the sum as it is written down: N products for each output
//   radix2    butterflies in shared memory, a block a line
//   tiled     the same, 16 lines a block, so that columns are read by whole sectors
//   swizzled  the same words at other places: no bank conflicts
//   radix16   butterflies in registers; shared memory is passed once a line
//   cluster   both passes in one launch: eight blocks keep an image in their shared memory together
//
// A pass sees lines: element j of line l is at l * line + j * item. Rows are (line, item) = (N, 1), columns (1, N).
// w[k] = exp(-2πi k / N). Sizes of radix16 are squares (16, 64, 256), cluster's is 256.
#ifndef SIDE
#define SIDE 256
#endif
using Index = long long;

constexpr int N = SIDE;
constexpr int LOG = N == 2 ? 1 : N == 4 ? 2 : N == 8 ? 3 : N == 16 ? 4 : N == 32 ? 5 : N == 64 ? 6 : N == 128 ? 7 : 8;
constexpr int LINES = N < 16 ? N : 16;                           // lines a block, from the third rung on
constexpr int MOST = LINES * N / 2 < 256 ? LINES * N / 2 : 256;  // threads a block there

static_assert(N == 1 << LOG, "N is a power of two up to 256");

// --8<-- [start:complex]
__device__ float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ float2 operator-(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ float2 operator*(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
// --8<-- [end:complex]

// Where the line of this block begins, if a block has `lines` of them.
__device__ Index first(int lines, int line) {
    Index l = (Index)blockIdx.x * lines;
    return l / N * N * N + l % N * line;
}

// --8<-- [start:dft]
// Block: N threads, one line. Each thread computes one frequency.
extern "C" __global__ void fft_dft(const float2* in, float2* out, const float2* w, int line, int item) {
    __shared__ float2 x[N], turn[N];
    int f = threadIdx.x;
    Index base = first(1, line) + (Index)f * item;
    x[f] = in[base];
    turn[f] = w[f];
    __syncthreads();
    float2 sum = {0, 0};
    for (int j = 0; j < N; ++j) sum = sum + x[j] * turn[f * j % N];
    out[base] = sum;
}
// --8<-- [end:dft]

__device__ int reversed(int j) { return __brev(j) >> (32 - LOG); }  // the LOG bits of j, last bit first

// --8<-- [start:radix2]
// Block: N / 2 threads, one line. In each of LOG stages a thread turns a pair of elements, s apart.
extern "C" __global__ void fft_radix2(const float2* in, float2* out, const float2* w, int line, int item) {
    __shared__ float2 x[N], turn[N / 2];
    Index base = first(1, line);
    int t = threadIdx.x;
    for (int j = t; j < N; j += N / 2) {
        float2 value = in[base + (Index)j * item];
        x[reversed(j)] = value;
    }
    turn[t] = w[t];
    for (int s = 1; s < N; s *= 2) {
        __syncthreads();
        int k = t % s, i = 2 * t - k;
        float2 turned = turn[k * (N / 2 / s)];
        float2 a = x[i];
        float2 b = x[i + s] * turned;
        x[i] = a + b;
        x[i + s] = a - b;
    }
    __syncthreads();
    for (int j = t; j < N; j += N / 2) out[base + (Index)j * item] = x[j];
}
// --8<-- [end:radix2]

// --8<-- [start:tiled]
// Block: MOST threads, LINES lines. Neighbouring lanes read neighbouring words, in rows and in columns.
extern "C" __global__ void fft_tiled(const float2* in, float2* out, const float2* w, int line, int item) {
    __shared__ float2 x[LINES][N], turn[N / 2];
    Index base = first(LINES, line);
    int t = threadIdx.x;
    for (int e = t; e < LINES * N; e += MOST) {
        int l = item == 1 ? e / N : e % LINES, j = item == 1 ? e % N : e / LINES;
        float2 value = in[base + (Index)l * line + (Index)j * item];
        x[l][reversed(j)] = value;
    }
    for (int k = t; k < N / 2; k += MOST) turn[k] = w[k];
    for (int s = 1; s < N; s *= 2) {
        __syncthreads();
        for (int e = t; e < LINES * N / 2; e += MOST) {
            int l = e / (N / 2), p = e % (N / 2), k = p % s, i = 2 * p - k;
            float2 turned = turn[k * (N / 2 / s)];
            float2 a = x[l][i];
            float2 b = x[l][i + s] * turned;
            x[l][i] = a + b;
            x[l][i + s] = a - b;
        }
    }
    __syncthreads();
    for (int e = t; e < LINES * N; e += MOST) {
        int l = item == 1 ? e / N : e % LINES, j = item == 1 ? e % N : e / LINES;
        out[base + (Index)l * line + (Index)j * item] = x[l][j];
    }
}
// --8<-- [end:tiled]

// --8<-- [start:swizzle]
// Where element i of a line is kept. Sixteen lanes whose indices differ in any four neighbouring bits, or in four of
// the lowest five, meet in 16 different pairs of banks.
__device__ int place(int i) { return i ^ (i >> 4 & 1) * 15 ^ i >> 5; }
// --8<-- [end:swizzle]

// --8<-- [start:swizzled]
extern "C" __global__ void fft_swizzled(const float2* in, float2* out, const float2* w, int line, int item) {
    __shared__ float2 x[LINES][N + 1], turn[N];  // + 1: lanes on different lines, too, find different banks
    Index base = first(LINES, line);
    int t = threadIdx.x;
    for (int e = t; e < LINES * N; e += MOST) {
        int l = item == 1 ? e / N : e % LINES, j = item == 1 ? e % N : e / LINES;
        float2 value = in[base + (Index)l * line + (Index)j * item];
        x[l][place(reversed(j))] = value;
    }
    for (int k = t + 1; k < N; k += MOST) {  // stage s has its s turns side by side, from turn[s] on
        int s = 1 << (31 - __clz(k));
        turn[k] = w[(k - s) * (N / 2 / s)];
    }
    for (int s = 1; s < N; s *= 2) {
        __syncthreads();
        for (int e = t; e < LINES * N / 2; e += MOST) {
            int l = e / (N / 2), p = e % (N / 2), k = p % s, i = 2 * p - k;
            float2 turned = turn[s + k];
            float2 a = x[l][place(i)];
            float2 b = x[l][place(i + s)] * turned;
            x[l][place(i)] = a + b;
            x[l][place(i + s)] = a - b;
        }
    }
    __syncthreads();
    for (int e = t; e < LINES * N; e += MOST) {
        int l = item == 1 ? e / N : e % LINES, j = item == 1 ? e % N : e / LINES;
        out[base + (Index)l * line + (Index)j * item] = x[l][place(j)];
    }
}
// --8<-- [end:swizzled]

#if SIDE == 16 || SIDE == 64 || SIDE == 256
// --8<-- [start:registers]
constexpr int R = N == 256 ? 16 : N == 64 ? 8 : 4;  // N = R · R

// exp(-2πi k / 16), k < 8
__device__ float2 sixteenth(int k) {
    constexpr float C[] = {1, 0.92387953f, 0.70710678f, 0.38268343f, 0, -0.38268343f, -0.70710678f, -0.92387953f};
    constexpr float S[] = {0, 0.38268343f, 0.70710678f, 0.92387953f, 1, 0.92387953f, 0.70710678f, 0.38268343f};
    return {C[k], -S[k]};
}

// An FFT of M elements that a thread holds: all indices are known to the compiler, so v stays in registers.
template <int M>
__device__ __forceinline__ void fft(float2 (&v)[M]) {
    if constexpr (M > 1) {
        float2 even[M / 2], odd[M / 2];
#pragma unroll
        for (int k = 0; k < M / 2; ++k) even[k] = v[2 * k], odd[k] = v[2 * k + 1];
        fft(even), fft(odd);
#pragma unroll
        for (int k = 0; k < M / 2; ++k) {
            float2 b = k == 0 ? odd[k] : 4 * k == M ? float2{odd[k].y, -odd[k].x} : odd[k] * sixteenth(k * 16 / M);
            v[k] = even[k] + b;
            v[k + M / 2] = even[k] - b;
        }
    }
}

// v[k] times w to the power of k.
__device__ __forceinline__ void turn(float2 (&v)[R], float2 w) {
    float2 power = w;
#pragma unroll
    for (int k = 1; k < R; ++k) {
        v[k] = v[k] * power;
        power = power * w;
    }
}

constexpr int PITCH = R * (R + 1) + 1;  // a line's room in the exchange: R rows of R + 1, and one more
// --8<-- [end:registers]

// --8<-- [start:radix16]
// Block: LINES · R threads, R of them a line. Thread q of a line begins with every R-th element and ends with every
// R-th frequency; in between the R · R numbers change hands through shared memory, once.
extern "C" __global__ void __launch_bounds__(LINES* R)
    fft_radix16(const float2* in, float2* out, const float2* w, int line, int item) {
    __shared__ float2 x[LINES * PITCH];
    int l = item == 1 ? threadIdx.x / R : threadIdx.x % LINES, q = item == 1 ? threadIdx.x % R : threadIdx.x / LINES;
    Index base = first(LINES, line) + (Index)l * line;
    float2 v[R];
#pragma unroll
    for (int k = 0; k < R; ++k) v[k] = in[base + (Index)(R * k + q) * item];
    fft(v);
    turn(v, w[q]);
#pragma unroll
    for (int k = 0; k < R; ++k) x[l * PITCH + k * (R + 1) + q] = v[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < R; ++k) v[k] = x[l * PITCH + q * (R + 1) + k];
    fft(v);
#pragma unroll
    for (int k = 0; k < R; ++k) out[base + (Index)(R * k + q) * item] = v[k];
}
// --8<-- [end:radix16]
#endif

#if SIDE == 256 && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900)
#include <cooperative_groups.h>

// --8<-- [start:cluster]
constexpr int SHARE = 8, OWN = N / SHARE;  // blocks an image; columns, then rows, a block

// Block: OWN · R threads. A cluster of SHARE blocks transforms an image; what is columns to one block is rows to
// another, and goes there through distributed shared memory.
extern "C" __global__ void __cluster_dims__(SHARE, 1, 1) __launch_bounds__(OWN* R, 2)
    fft_cluster(const float2* in, float2* out, const float2* w) {
    extern __shared__ float2 x[];  // OWN · PITCH
    auto cluster = cooperative_groups::this_cluster();
    int rank = cluster.block_rank();
    Index image = (Index)(blockIdx.x / SHARE) * N * N;
    int l = threadIdx.x % OWN, q = threadIdx.x / OWN;
    float2 v[R];
#pragma unroll
    for (int k = 0; k < R; ++k) v[k] = in[image + (Index)(R * k + q) * N + rank * OWN + l];
    fft(v);
    turn(v, w[q]);
#pragma unroll
    for (int k = 0; k < R; ++k) x[l * PITCH + k * (R + 1) + q] = v[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < R; ++k) v[k] = x[l * PITCH + q * (R + 1) + k];
    fft(v);
    cluster.sync();  // nobody reads the exchange any more
#pragma unroll
    for (int k = 0; k < R; ++k) {  // row R · k + q of the spectrum belongs to block (R · k + q) / OWN
        int row = R * k + q;
        cluster.map_shared_rank(x, row / OWN)[row % OWN * N + rank * OWN + l] = v[k];
    }
    cluster.sync();  // all rows are here
    l = threadIdx.x / R, q = threadIdx.x % R;
#pragma unroll
    for (int k = 0; k < R; ++k) v[k] = x[l * N + R * k + q];
    __syncthreads();
    fft(v);
    turn(v, w[q]);
#pragma unroll
    for (int k = 0; k < R; ++k) x[l * PITCH + k * (R + 1) + q] = v[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < R; ++k) v[k] = x[l * PITCH + q * (R + 1) + k];
    fft(v);
#pragma unroll
    for (int k = 0; k < R; ++k) out[image + (Index)(rank * OWN + l) * N + R * k + q] = v[k];
}
// --8<-- [end:cluster]
#endif

// The yardstick: 16 bytes a thread, n of them.
extern "C" __global__ void copy(const float4* in, float4* out, Index n) {
    Index i = ((Index)blockIdx.x * blockDim.x * 4) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (i + k * blockDim.x < n) out[i + k * blockDim.x] = in[i + k * blockDim.x];
}
