// wrong: out-of-bounds
__global__ void histogram(const unsigned char* data, unsigned* counts, int n) {
    __shared__ unsigned bins[256];
    int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    for (int i = 4 * (blockIdx.x * 256 + t); i < n; i += 4 * gridDim.x * 256)
        for (int k = 0; k < 4; k++) atomicAdd(&bins[data[i + k]], 1);  // <-- here
    __syncthreads();
    atomicAdd(&counts[t], bins[t]);
}
