// y = x Wᵀ: W has N rows of K weights, x has M rows of K numbers, `pitch` elements apart, and y has M rows of N sums in
// fp32; for any N, K >= 1.
// The program that compiles this file sets
//   M        rows of x, 1 to 16
//   ELEMENT  type of W and x: float, or unsigned short for the bits of a bf16
// Each kernel differs from the one before it by one change. --8<-- marks the sections that the pages show.

// --8<-- [start:helpers]
typedef ELEMENT Element;
constexpr int VECTOR = 16 / sizeof(Element);  // elements in 16 bytes

// A bf16 is the upper half of a float.
__device__ float widen(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }
__device__ float widen(float number) { return number; }

__device__ void unpack(uint4 loaded, float (&to)[VECTOR]) {
    const unsigned words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
    for (int i = 0; i < 4; i++)
        if constexpr (sizeof(Element) == 2)
            to[2 * i] = __uint_as_float(words[i] << 16), to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000);
        else
            to[i] = __uint_as_float(words[i]);
}

__device__ float warp_sum(float sum) {
    for (int apart = 16; apart; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
    return sum;
}
// --8<-- [end:helpers]

// --8<-- [start:load]
// 16 bytes from p, of which `left` elements belong to the row: one load where rows are multiples of 16 bytes.
__device__ uint4 load16(const Element* p, int left, bool aligned) {
    if (aligned) return *(const uint4*)p;
    union {
        Element elements[VECTOR];
        uint4 all;
    } loaded;
    loaded.all = uint4{};
    for (int i = 0; i < VECTOR; i++)
        if (i < left) loaded.elements[i] = p[i];
    return loaded.all;
}
// --8<-- [end:load]

extern "C" {

// --8<-- [start:v0]
__global__ void gemv_v0(const Element* __restrict__ W, const Element* __restrict__ x, float* y, int N, int K,
                        int pitch) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) return;
    float sum[M] = {};
    for (int k = 0; k < K; k++) {
        float w = widen(W[(size_t)n * K + k]);  // lanes are a whole row apart
        for (int m = 0; m < M; m++) sum[m] += w * widen(x[m * pitch + k]);
    }
    for (int m = 0; m < M; m++) y[m * N + n] = sum[m];
}
// --8<-- [end:v0]

// --8<-- [start:v1]
__global__ void gemv_v1(const Element* __restrict__ W, const Element* __restrict__ x, float* y, int N, int K,
                        int pitch) {
    int n = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (n >= N) return;
    float sum[M] = {};
    for (int k = lane; k < K; k += 32) {  // lanes are neighbours in a row
        float w = widen(W[(size_t)n * K + k]);
        for (int m = 0; m < M; m++) sum[m] += w * widen(x[m * pitch + k]);
    }
    for (int m = 0; m < M; m++) {
        float total = warp_sum(sum[m]);
        if (lane == 0) y[m * N + n] = total;
    }
}
// --8<-- [end:v1]

// --8<-- [start:v2]
__global__ void gemv_v2(const Element* __restrict__ W, const Element* __restrict__ x, float* y, int N, int K,
                        int pitch) {
    int n = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (n >= N) return;
    const bool aligned = K % VECTOR == 0 && pitch % VECTOR == 0;
    float sum[M] = {};
    for (int k = lane * VECTOR; k < K; k += 32 * VECTOR) {
        float w[VECTOR], v[VECTOR];
        unpack(load16(W + (size_t)n * K + k, K - k, aligned), w);
        for (int m = 0; m < M; m++) {
            unpack(load16(x + m * pitch + k, K - k, aligned), v);
            for (int i = 0; i < VECTOR; i++) sum[m] += w[i] * v[i];
        }
    }
    for (int m = 0; m < M; m++) {
        float total = warp_sum(sum[m]);
        if (lane == 0) y[m * N + n] = total;
    }
}
// --8<-- [end:v2]

// --8<-- [start:v3]
__device__ void four_rows(const Element* __restrict__ W, const Element* __restrict__ x, float* y, int N, int K,
                          int pitch) {
    constexpr int R = 4;  // rows of W per warp
    int first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * R, lane = threadIdx.x % 32;
    if (first >= N) return;
    const bool aligned = K % VECTOR == 0 && pitch % VECTOR == 0;
    float sum[R][M] = {};
    for (int k = lane * VECTOR; k < K; k += 32 * VECTOR) {
        float w[R][VECTOR], v[VECTOR];
        for (int r = 0; r < R; r++)  // past the last row: the last row again, which is not stored
            unpack(load16(W + (size_t)min(first + r, N - 1) * K + k, K - k, aligned), w[r]);
        for (int m = 0; m < M; m++) {
            unpack(load16(x + m * pitch + k, K - k, aligned), v);  // loaded once, used R times
            for (int r = 0; r < R; r++)
                for (int i = 0; i < VECTOR; i++) sum[r][m] += w[r][i] * v[i];
        }
    }
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int m = 0; m < M; m++) {
            float total = warp_sum(sum[r][m]);
            if (lane == 0 && first + r < N) y[m * N + first + r] = total;
        }
}

__global__ void gemv_v3(const Element* __restrict__ W, const Element* __restrict__ x, float* y, int N, int K,
                        int pitch) {
    four_rows(W, x, y, N, K, pitch);
}
// --8<-- [end:v3]

// --8<-- [start:v4]
__global__ void gemv_v4(const Element* __restrict__ W, const Element* __restrict__ x, float* y, int N, int K,
                        int pitch) {
    four_rows(W, x, y, N, K, pitch);  // the rows of x are 128 bytes further apart
}
// --8<-- [end:v4]
}
