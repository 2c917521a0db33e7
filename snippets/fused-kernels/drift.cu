// The memory accesses of a backward pass alone: z = y - (mean of x y) x for rows of 4096 floats, by blocks that stay.
// A block works on one turn after the other; gridDim.x turns are a round.
//
//   stepped    each block takes every gridDim.x-th turn, as in norm_backward; turn t is row t
//   handed     each takes the first turn that nobody has taken; turn t is row t
//   scattered  as handed, but turns that follow each other are rows of 32 strips far apart
//
// The host sets `taken` to 0. turn_of[b] is the turn that block b is at; block 0 notes all of them, once, when it comes
// to turn `middle`. ended[b] is the time in ns when block b was done.
constexpr int N = 4096, THREADS = 512, WARPS = THREADS / 32, PACKS = N / (4 * THREADS), STRIPS = 32;
constexpr unsigned ALL = 0xffffffff;

struct alignas(16) Pack {
    float v[4];
};

enum Way { STEPPED, HANDED, SCATTERED };

__device__ unsigned long long now() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

// --8<-- [start:rows]
template <Way WAY>
__device__ int row_of(int turn, int rows) {
    return WAY == SCATTERED && rows % STRIPS == 0 ? turn % STRIPS * (rows / STRIPS) + turn / STRIPS : turn;
}

template <Way WAY>
__device__ void over_rows(const Pack* x, const Pack* y, Pack* z, int rows, unsigned* taken, int* turn_of, int* noted,
                          int middle, unsigned long long* ended) {
    __shared__ float sums[2][WARPS];
    __shared__ int next[2];
    bool done = false;
    for (int turn = blockIdx.x, slot = 0; turn < rows; slot ^= 1) {
        if (threadIdx.x == 0) {  // the next turn is known by the time that this one is over
            next[slot] = gridDim.x + (WAY == STEPPED ? turn : atomicAdd(taken, 1));
            atomicExch(&turn_of[blockIdx.x], turn);
        }
        if (blockIdx.x == 0 && turn >= middle && !done) {
            for (int b = threadIdx.x; b < gridDim.x; b += THREADS) noted[b] = atomicAdd(&turn_of[b], 0);
            done = true;
        }
        Pack p[PACKS], q[PACKS];
        long long first = (long long)row_of<WAY>(turn, rows) * (N / 4) + threadIdx.x;
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
        turn = next[slot];
    }
    if (threadIdx.x == 0) ended[blockIdx.x] = now();
}
// --8<-- [end:rows]

#define KERNEL(name, way)                                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                         \
        name(const Pack* x, const Pack* y, Pack* z, int rows, unsigned* taken, int* turn_of, int* noted, int middle, \
             unsigned long long* ended) {                                                                            \
        over_rows<way>(x, y, z, rows, taken, turn_of, noted, middle, ended);                                         \
    }
KERNEL(stepped, STEPPED)
KERNEL(handed, HANDED)
KERNEL(scattered, SCATTERED)
