// wrong: order-lost, no line
__global__ void keep(const float* x, float* y, int* kept, int n) {
    __shared__ int next;
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (t == 0) next = 0;
    __syncthreads();
    if (t / 32 % 2 == 1 && i < n && x[i] > 0) y[blockIdx.x * 256 + atomicAdd(&next, 1)] = x[i];
    __syncthreads();
    if (t / 32 % 2 == 0 && i < n && x[i] > 0) y[blockIdx.x * 256 + atomicAdd(&next, 1)] = x[i];
    __syncthreads();
    if (t == 0) kept[blockIdx.x] = next;
}
