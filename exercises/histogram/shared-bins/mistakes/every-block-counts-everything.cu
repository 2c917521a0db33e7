// wrong: several-times, no line
__global__ void histogram(const unsigned char* data, unsigned* counts, int n) {
    __shared__ unsigned bins[256];
    int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    for (int i = t; i < n; i += 256) atomicAdd(&bins[data[i]], 1);
    __syncthreads();
    atomicAdd(&counts[t], bins[t]);
}
