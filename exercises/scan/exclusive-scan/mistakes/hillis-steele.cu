// slow: barriers
__global__ void offsets(const int* counts, int* starts, int* sums, int n) {
    __shared__ int tile[2][256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, now = 0;
    int own = i < n ? counts[i] : 0;
    tile[0][t] = own;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        int x = tile[now][t];
        if (t >= d) x += tile[now][t - d];
        now = 1 - now;
        tile[now][t] = x;
        __syncthreads();  // <-- here
    }
    if (i < n) starts[i] = tile[now][t] - own;
    if (t == 255) sums[blockIdx.x] = tile[now][t];
}
