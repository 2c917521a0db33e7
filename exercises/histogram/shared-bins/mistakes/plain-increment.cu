// wrong: race
__global__ void histogram(const unsigned char* data, unsigned* counts, int n) {
    __shared__ unsigned bins[256];
    int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) bins[data[i]]++;  // <-- here
    __syncthreads();
    atomicAdd(&counts[t], bins[t]);
}
