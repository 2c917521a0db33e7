// slow: atomics
__global__ void histogram(const unsigned char* data, unsigned* counts, int n) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&counts[data[i]], 1);  // <-- here
}
