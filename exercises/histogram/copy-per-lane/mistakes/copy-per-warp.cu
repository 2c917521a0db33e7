// slow: bank-conflicts
__global__ void histogram(const unsigned char* data, unsigned* counts, int n) {
    __shared__ unsigned bins[64][8];
    int t = threadIdx.x, lane = t / 32;
    for (int k = t; k < 64 * 8; k += 256) bins[0][k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) atomicAdd(&bins[data[i]][lane], 1);  // <-- here
    __syncthreads();
    if (t < 64) {
        unsigned sum = 0;
        for (int k = 0; k < 8; k++) sum += bins[t][(t + k) % 8];
        atomicAdd(&counts[t], sum);
    }
}
