// wrong: race
__global__ void offsets(const int* counts, int* starts, int* sums, int n) {
    __shared__ int tile[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    int own = i < n ? counts[i] : 0;
    tile[t] = own;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        if (t >= d) tile[t] += tile[t - d];  // <-- here
        __syncthreads();
    }
    if (i < n) starts[i] = tile[t] - own;
    if (t == 255) sums[blockIdx.x] = tile[t];
}
