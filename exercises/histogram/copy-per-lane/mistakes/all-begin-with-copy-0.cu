// slow: bank-conflicts
__global__ void histogram(const unsigned char* data, unsigned* counts, int n) {
    __shared__ unsigned bins[64][32];
    int t = threadIdx.x, lane = t % 32;
    for (int k = t; k < 64 * 32; k += 256) bins[0][k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) atomicAdd(&bins[data[i]][lane], 1);
    __syncthreads();
    if (t < 64) {
        unsigned sum = 0;
        for (int k = 0; k < 32; k++) sum += bins[t][k];  // <-- here
        atomicAdd(&counts[t], sum);
    }
}
