// wrong: uninitialised
__global__ void histogram(const unsigned char* data, unsigned* counts, int n) {
    __shared__ unsigned bins[64][32];
    int t = threadIdx.x, lane = t % 32;
    if (t < 64) bins[t][0] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) atomicAdd(&bins[data[i]][lane], 1);  // <-- here
    __syncthreads();
    if (t < 64) {
        unsigned sum = 0;
        for (int k = 0; k < 32; k++) sum += bins[t][(t + k) % 32];  // <-- here
        atomicAdd(&counts[t], sum);
    }
}
