// wrong: overflow, no line
__global__ void histogram(const unsigned char* data, unsigned* counts, int n) {
    __shared__ unsigned bins[64];
    int t = threadIdx.x;
    if (t < 64) bins[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256)
        atomicAdd(&bins[data[i] / 4], 1u << data[i] % 4 * 8);
    __syncthreads();
    atomicAdd(&counts[t], bins[t / 4] >> t % 4 * 8 & 255);
}
