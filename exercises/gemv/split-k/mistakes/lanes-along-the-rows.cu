// slow: uncoalesced
__global__ void gemv(const float* w, const float* x, float* y, int n, int k) {
    int row = blockIdx.x * 8 + threadIdx.x % 8, lane = threadIdx.x / 8;
    int from = (long long)k * blockIdx.y / gridDim.y, to = (long long)k * (blockIdx.y + 1) / gridDim.y;
    __shared__ float sums[8];
    if (threadIdx.x < 8) sums[threadIdx.x] = 0;
    __syncthreads();
    float sum = 0;
    if (row < n)
        for (int i = from + lane; i < to; i += 32) sum += w[(size_t)row * k + i] * x[i];  // <-- here
    atomicAdd(sums + threadIdx.x % 8, sum);
    __syncthreads();
    if (threadIdx.x < 8 && row < n) atomicAdd(y + row, sums[threadIdx.x]);
}
