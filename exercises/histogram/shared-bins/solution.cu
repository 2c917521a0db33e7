// counts[v] grows by how often v occurs in data[0 … n-1].
__global__ void histogram(const unsigned char* data, unsigned* counts, int n) {
    // your code
    __shared__ unsigned bins[256];
    int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) atomicAdd(&bins[data[i]], 1);
    __syncthreads();
    atomicAdd(&counts[t], bins[t]);
    // end of your code
}
