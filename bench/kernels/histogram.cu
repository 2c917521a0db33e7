// How often each byte occurs: a histogram a block in shared memory, then added to the one in global memory.
#define BINS 256

extern "C" __global__ void histogram(const unsigned char* in, unsigned int* counts, int n) {
    __shared__ unsigned int own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * BINS + threadIdx.x; i < n; i += gridDim.x * BINS) atomicAdd(&own[in[i]], 1u);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}
