// The memory accesses of a backward pass alone: z = y - (mean of x y) x for rows of 4096 floats, by blocks that stay.
//
//   stepped   each block takes every gridDim.x-th row, as in norm_backward
//   handed    each takes the first row that nobody has taken; the host sets taken to 0
//
// at[b] is the row that block b is at. Block 0 notes all of them in seen, once, when it comes to row `middle`.
constexpr int N = 4096, THREADS = 512, WARPS = THREADS / 32, PACKS = N / (4 * THREADS);
constexpr unsigned ALL = 0xffffffff;

struct alignas(16) Pack {
    float v[4];
};

// --8<-- [start:rows]
template <bool HANDED>
__device__ void over_rows(const Pack* x, const Pack* y, Pack* z, int rows, unsigned* taken, int* at, int* seen,
                          int middle) {
    __shared__ float sums[2][WARPS];
    __shared__ int next[2];
    bool noted = false;
    for (int r = blockIdx.x, slot = 0; r < rows; slot ^= 1) {
        if (threadIdx.x == 0) {  // the next row is known by the time that this one is done
            next[slot] = gridDim.x + (HANDED ? atomicAdd(taken, 1) : r);
            atomicExch(&at[blockIdx.x], r);
        }
        if (blockIdx.x == 0 && r >= middle && !noted) {
            for (int b = threadIdx.x; b < gridDim.x; b += THREADS) seen[b] = atomicAdd(&at[b], 0);
            noted = true;
        }
        Pack p[PACKS], q[PACKS];
        long long first = (long long)r * (N / 4) + threadIdx.x;
#pragma unroll
        for (int k = 0; k < PACKS; ++k) p[k] = x[first + k * THREADS], q[k] = y[first + k * THREADS];
        float s = 0;
        for (int k = 0; k < PACKS; ++k)
            for (int j = 0; j < 4; ++j) s += p[k].v[j] * q[k].v[j];
        for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(ALL, s, d);
        if (threadIdx.x % 32 == 0) sums[slot][threadIdx.x / 32] = s;
        __syncthreads();
        s = sums[slot][threadIdx.x % WARPS];
        for (int d = WARPS / 2; d > 0; d /= 2) s += __shfl_xor_sync(ALL, s, d);
        s /= N;
        for (int k = 0; k < PACKS; ++k) {
            for (int j = 0; j < 4; ++j) q[k].v[j] -= s * p[k].v[j];
            z[first + k * THREADS] = q[k];
        }
        r = next[slot];
    }
}
// --8<-- [end:rows]

extern "C" {

__global__ void __launch_bounds__(THREADS, 2)
    stepped(const Pack* x, const Pack* y, Pack* z, int rows, unsigned* taken, int* at, int* seen, int middle) {
    over_rows<false>(x, y, z, rows, taken, at, seen, middle);
}

__global__ void __launch_bounds__(THREADS, 2)
    handed(const Pack* x, const Pack* y, Pack* z, int rows, unsigned* taken, int* at, int* seen, int middle) {
    over_rows<true>(x, y, z, rows, taken, at, seen, middle);
}

}  // extern "C"
