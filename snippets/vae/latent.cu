// z = μ + σ ε and KL(N(μ, σ²) ‖ N(0, 1)): in one kernel, in two, and with a kernel per operation; and the gradient.
// A warp takes a row of d numbers. A lane moves WIDTH neighbouring ones at a time, 1 or 4, which must divide d and stride.

#ifndef WIDTH
#define WIDTH 1
#endif

struct alignas(4 * WIDTH) Pack {
    float v[WIDTH];
};

__device__ Pack load(const float* from, size_t at) { return *reinterpret_cast<const Pack*>(from + at); }
__device__ void store(float* to, size_t at, const Pack& pack) { *reinterpret_cast<Pack*>(to + at) = pack; }

__device__ float warp_sum(float x) {
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(0xffffffff, x, d);
    return x;
}

extern "C" {

// --8<-- [start:fused]
__global__ void reparam_kl(const float* mu, const float* logvar, const float* noise, float* z, float* kl, int rows,
                           int d, int stride) {
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0;
    for (int i = WIDTH * lane; i < d; i += WIDTH * 32) {
        Pack m = load(mu, (size_t)row * stride + i), l = load(logvar, (size_t)row * stride + i);
        Pack e = load(noise, (size_t)row * d + i), made;
        for (int k = 0; k < WIDTH; ++k) {
            float sigma = expf(0.5f * l.v[k]);
            made.v[k] = fmaf(sigma, e.v[k], m.v[k]);
            sum += 0.5f * (m.v[k] * m.v[k] + sigma * sigma - 1 - l.v[k]);
        }
        store(z, (size_t)row * d + i, made);
    }
    sum = warp_sum(sum);
    if (lane == 0) kl[row] = sum;
}
// --8<-- [end:fused]

// --8<-- [start:backward]
__global__ void reparam_backward(const float* dz, const float* mu, const float* logvar, const float* noise, float* dmu,
                                 float* dlogvar, int rows, int d, int stride, float weight) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, row = at / d, i = at % d;
    if (row >= rows) return;
    size_t to = (size_t)row * stride + i;
    float sigma = expf(0.5f * logvar[to]);
    dmu[to] = dz[at] + weight * mu[to];
    dlogvar[to] = 0.5f * (dz[at] * noise[at] * sigma + weight * (sigma * sigma - 1));
}
// --8<-- [end:backward]

// --8<-- [start:two]
__global__ void reparameterise(const float* mu, const float* logvar, const float* noise, float* z, int rows, int d) {
    size_t at = WIDTH * ((size_t)blockIdx.x * blockDim.x + threadIdx.x);
    if (at >= (size_t)rows * d) return;
    Pack m = load(mu, at), l = load(logvar, at), e = load(noise, at), made;
    for (int k = 0; k < WIDTH; ++k) made.v[k] = fmaf(expf(0.5f * l.v[k]), e.v[k], m.v[k]);
    store(z, at, made);
}

__global__ void kl_rows(const float* mu, const float* logvar, float* kl, int rows, int d) {
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0;
    for (int i = WIDTH * lane; i < d; i += WIDTH * 32) {
        Pack m = load(mu, (size_t)row * d + i), l = load(logvar, (size_t)row * d + i);
        for (int k = 0; k < WIDTH; ++k) sum += 0.5f * (m.v[k] * m.v[k] + expf(l.v[k]) - 1 - l.v[k]);
    }
    sum = warp_sum(sum);
    if (lane == 0) kl[row] = sum;
}
// --8<-- [end:two]

// --8<-- [start:ten]
#define ONE(name, result)                                                    \
    __global__ void name(const float* x, float* y, int n) {                  \
        size_t at = WIDTH * ((size_t)blockIdx.x * blockDim.x + threadIdx.x); \
        if (at >= n) return;                                                 \
        Pack a = load(x, at);                                                \
        for (int k = 0; k < WIDTH; ++k) a.v[k] = result;                     \
        store(y, at, a);                                                     \
    }
#define TWO(name, result)                                                       \
    __global__ void name(const float* x, const float* other, float* y, int n) { \
        size_t at = WIDTH * ((size_t)blockIdx.x * blockDim.x + threadIdx.x);    \
        if (at >= n) return;                                                    \
        Pack a = load(x, at), b = load(other, at);                              \
        for (int k = 0; k < WIDTH; ++k) a.v[k] = result;                        \
        store(y, at, a);                                                        \
    }
ONE(halve, 0.5f * a.v[k])
ONE(exponential, expf(a.v[k]))
ONE(add_one, 1 + a.v[k])
ONE(square, a.v[k] * a.v[k])
TWO(multiply, a.v[k] * b.v[k])
TWO(add, a.v[k] + b.v[k])
TWO(subtract, a.v[k] - b.v[k])

__global__ void minus_half_sum(const float* x, float* sums, int rows, int d) {
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0;
    for (int i = WIDTH * lane; i < d; i += WIDTH * 32) {
        Pack a = load(x, (size_t)row * d + i);
        for (int k = 0; k < WIDTH; ++k) sum += a.v[k];
    }
    sum = warp_sum(sum);
    if (lane == 0) sums[row] = -0.5f * sum;
}
// --8<-- [end:ten]

}  // extern "C"
