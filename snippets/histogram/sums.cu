// Sums of weights per bin, in float: v3 and v5 of hist.cu with weights, bytes as keys. And the same in whole numbers.

constexpr int BINS = 256, BLOCK = 512;

extern "C" {
// --8<-- [start:sums]
__global__ void sums_block(const unsigned char* x, const float* weight, float* out, unsigned n) {
    __shared__ float sums[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) sums[bin] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        atomicAdd(&sums[x[i]], weight[i]);
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) atomicAdd(&out[bin], sums[bin]);
}
// --8<-- [end:sums]

__global__ void sums_lanes(const unsigned char* x, const float* weight, float* out, unsigned n) {
    __shared__ float sums[BINS][32];
    for (int k = threadIdx.x; k < BINS * 32; k += BLOCK) sums[0][k] = 0;
    __syncthreads();
    int lane = threadIdx.x % 32;
    for (unsigned i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        atomicAdd(&sums[x[i]][lane], weight[i]);
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) {
        float sum = 0;
        for (int k = 0; k < 32; ++k) sum += sums[bin][(bin + k) % 32];
        atomicAdd(&out[bin], sum);
    }
}

// --8<-- [start:fixed]
// Weights in units of 2^-30: whole numbers, whose sum does not depend on the order.
__global__ void sums_fixed(const unsigned char* x, const float* weight, unsigned long long* out, unsigned n) {
    __shared__ unsigned long long sums[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) sums[bin] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        atomicAdd(&sums[x[i]], (unsigned long long)llrintf(weight[i] * 0x1p30f));
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) atomicAdd(&out[bin], sums[bin]);
}
// --8<-- [end:fixed]
}
