// Sums of blocks: a grid-stride loop, then a tree in shared memory.
#define THREADS 256

extern "C" __global__ void reduction(const float* in, float* sums, int n) {
    __shared__ float partial[THREADS];
    float sum = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) sum += in[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}
