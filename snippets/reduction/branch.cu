// v0 and v1 once more, with loops that stay loops: what a pair needs then lies behind a branch, and a warp in which
// no lane has a pair jumps over it. In reduce.cu the compiler unrolls the loops and predicates instead.
using Index = long long;
constexpr int BLOCK = 256;

extern "C" {

// --8<-- [start:rolled]
__global__ void rolled_v0(float* data, float* out, Index n) {
    Index start = (Index)blockIdx.x * BLOCK;
    float* tile = data + start;
    int t = threadIdx.x;
#pragma unroll 1
    for (int s = 1; s < BLOCK; s *= 2) {
        if ((t & (2 * s - 1)) == 0 && start + t + s < n) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}

__global__ void rolled_v1(float* data, float* out, Index n) {
    Index start = (Index)blockIdx.x * BLOCK;
    float* tile = data + start;
#pragma unroll 1
    for (int s = 1; s < BLOCK; s *= 2) {
        int i = 2 * s * threadIdx.x;
        if (i < BLOCK && start + i + s < n) tile[i] += tile[i + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = tile[0];
}
// --8<-- [end:rolled]

}  // extern "C"
