// wrong: left-out, no line
__global__ void histogram(const unsigned char* data, unsigned* counts, int n) {
    __shared__ unsigned bins[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    bins[t] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&bins[data[i]], 1);
    __syncthreads();
    atomicAdd(&counts[t], bins[t]);
}
