// Softmax of each row of a matrix: y = exp(x - m) / s, with m the row's maximum and s the sum of exp(x - m).
// THREADS threads take a row of n floats and move them in packs of WIDTH; a block has one row or, if a warp is enough
// for it, as many as the block has warps (blockDim.y):
//
//   softmax_unsafe     without m: wrong as soon as an exponential overflows
//   softmax_three      three passes: maximum, sum, quotient; the row is read three times
//   softmax_online     two passes: maximum and sum in one
//   softmax_registers  one pass: the row stays in registers, PACKS packs a thread
//   softmax_backward   dx = y (dy - sum of y dy), in one pass as well
//
// n is a multiple of WIDTH, pointers are multiples of 4 * WIDTH bytes; for the last two, n <= THREADS * PACKS * WIDTH.
#ifndef THREADS
#define THREADS 256
#define PACKS 4
#define WIDTH 4
#endif

using Index = long long;

constexpr int WARPS = THREADS / 32;                   // of a row
constexpr int BLOCK = THREADS > 256 ? THREADS : 256;  // at most
constexpr unsigned ALL = 0xffffffff;
static_assert(WARPS * 32 == THREADS && (WARPS & (WARPS - 1)) == 0 && WARPS <= 32);

struct alignas(4 * WIDTH) Pack {
    float v[WIDTH];
};

// --8<-- [start:part]
// What some numbers of a row amount to: their maximum, and the sum of exp(x - m).
struct Part {
    float m, s;
};

constexpr float LOWEST = -3.402823466e38f;  // not -infinity: the difference of two of those is NaN
constexpr Part NOTHING = {LOWEST, 0};

__device__ Part merge(Part a, Part b) {
    float down = expf(-fabsf(a.m - b.m));  // for the sum whose maximum is the smaller
    return a.m > b.m ? Part{a.m, a.s + b.s * down} : Part{b.m, a.s * down + b.s};
}
// --8<-- [end:part]

__device__ float greater(float a, float b) { return fmaxf(a, b); }
__device__ float sum(float a, float b) { return a + b; }

// --8<-- [start:over]
__device__ float swap(float v, int distance) { return __shfl_xor_sync(ALL, v, distance); }
__device__ Part swap(Part p, int distance) { return {swap(p.m, distance), swap(p.s, distance)}; }

// v of all threads of a row, combined; every thread gets the same bits. To be called once for each Combine.
template <auto Combine, class T>
__device__ T over_row(T v) {
    for (int d = 16; d > 0; d /= 2) v = Combine(v, swap(v, d));
    if constexpr (WARPS > 1) {
        __shared__ T of_warp[WARPS];
        if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
        __syncthreads();
        v = of_warp[threadIdx.x % WARPS];
        for (int d = WARPS / 2; d > 0; d /= 2) v = Combine(v, swap(v, d));
    }
    return v;
}
// --8<-- [end:over]

// --8<-- [start:packs]
__device__ Index my_row() { return (Index)blockIdx.x * blockDim.y + threadIdx.y; }
__device__ const Pack* row(const float* x, int n) { return (const Pack*)(x + my_row() * n); }
__device__ Pack* row(float* y, int n) { return (Pack*)(y + my_row() * n); }

__device__ float highest(Pack p) {
    float m = p.v[0];
    for (int j = 1; j < WIDTH; ++j) m = fmaxf(m, p.v[j]);
    return m;
}

__device__ Pack exponentials(Pack p, float m) {
    for (float& v : p.v) v = expf(v - m);
    return p;
}

__device__ float total(Pack p) {
    float s = p.v[0];
    for (int j = 1; j < WIDTH; ++j) s += p.v[j];
    return s;
}

__device__ Pack times(Pack p, float factor) {
    for (float& v : p.v) v *= factor;
    return p;
}
// --8<-- [end:packs]

extern "C" {

// --8<-- [start:unsafe]
__global__ void softmax_unsafe(const float* x, float* y, int rows, int n) {
    if (my_row() >= rows) return;
    const Pack* from = row(x, n);
    Pack* to = row(y, n);
    float s = 0;
    for (int i = threadIdx.x; i < n / WIDTH; i += THREADS) s += total(exponentials(from[i], 0));
    s = over_row<sum>(s);
    for (int i = threadIdx.x; i < n / WIDTH; i += THREADS) to[i] = times(exponentials(from[i], 0), 1 / s);
}
// --8<-- [end:unsafe]

// --8<-- [start:three]
__global__ void __launch_bounds__(BLOCK) softmax_three(const float* x, float* y, int rows, int n) {
    if (my_row() >= rows) return;
    const Pack* from = row(x, n);
    Pack* to = row(y, n);
    float m = LOWEST, s = 0;
    for (int i = threadIdx.x; i < n / WIDTH; i += THREADS) m = fmaxf(m, highest(from[i]));
    m = over_row<greater>(m);
    for (int i = threadIdx.x; i < n / WIDTH; i += THREADS) s += total(exponentials(from[i], m));
    s = over_row<sum>(s);
    for (int i = threadIdx.x; i < n / WIDTH; i += THREADS) to[i] = times(exponentials(from[i], m), 1 / s);
}
// --8<-- [end:three]

// --8<-- [start:online]
__global__ void __launch_bounds__(BLOCK) softmax_online(const float* x, float* y, int rows, int n) {
    if (my_row() >= rows) return;
    const Pack* from = row(x, n);
    Pack* to = row(y, n);
    Part p = NOTHING;
    for (int i = threadIdx.x; i < n / WIDTH; i += THREADS) {
        float m = fmaxf(p.m, highest(from[i]));
        p = {m, p.s * expf(p.m - m) + total(exponentials(from[i], m))};
    }
    p = over_row<merge>(p);
    for (int i = threadIdx.x; i < n / WIDTH; i += THREADS) to[i] = times(exponentials(from[i], p.m), 1 / p.s);
}
// --8<-- [end:online]

// --8<-- [start:registers]
__global__ void __launch_bounds__(BLOCK) softmax_registers(const float* x, float* y, int rows, int n) {
    if (my_row() >= rows) return;
    const Pack* from = row(x, n);
    Pack* to = row(y, n);
    Pack mine[PACKS];
    float m = LOWEST, s = 0;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {  // all loads are on their way before the first is used
        int i = k * THREADS + threadIdx.x;
        if (i < n / WIDTH)
            mine[k] = from[i];
        else
            for (float& v : mine[k].v) v = LOWEST;
    }
#pragma unroll
    for (Pack& p : mine) m = fmaxf(m, highest(p));
#pragma unroll
    for (Pack& p : mine) s += total(p = exponentials(p, m));
    Part p = over_row<merge>(Part{m, s});
    float factor = expf(m - p.m) / p.s;  // the thread's own m was good enough until here
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        int i = k * THREADS + threadIdx.x;
        if (i < n / WIDTH) to[i] = times(mine[k], factor);
    }
}
// --8<-- [end:registers]

// --8<-- [start:backward]
__global__ void __launch_bounds__(BLOCK) softmax_backward(const float* y, const float* dy, float* dx, int rows, int n) {
    if (my_row() >= rows) return;
    const Pack *of_y = row(y, n), *of_dy = row(dy, n);
    Pack* to = row(dx, n);
    Pack p[PACKS] = {}, d[PACKS] = {};
    float dot = 0;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        int i = k * THREADS + threadIdx.x;
        if (i < n / WIDTH) p[k] = of_y[i], d[k] = of_dy[i];
    }
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
        for (int j = 0; j < WIDTH; ++j) dot += p[k].v[j] * d[k].v[j];
    dot = over_row<sum>(dot);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        int i = k * THREADS + threadIdx.x;
        for (int j = 0; j < WIDTH; ++j) d[k].v[j] = p[k].v[j] * (d[k].v[j] - dot);
        if (i < n / WIDTH) to[i] = d[k];
    }
}
// --8<-- [end:backward]

// --8<-- [start:copy]
__global__ void copy(const float4* in, float4* out, Index packs) {
    Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < packs) out[i] = in[i];
}
// --8<-- [end:copy]

}  // extern "C"
