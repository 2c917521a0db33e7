// slow: barriers
__global__ void keep(const float* x, float* y, int* kept, int n) {
    __shared__ int tile[2][256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, now = 0;
    float own = i < n ? x[i] : 0;
    tile[0][t] = own > 0;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        int sum = tile[now][t];
        if (t >= d) sum += tile[now][t - d];
        now = 1 - now;
        tile[now][t] = sum;
        __syncthreads();  // <-- here
    }
    if (own > 0) y[blockIdx.x * 256 + tile[now][t] - 1] = own;
    if (t == 255) kept[blockIdx.x] = tile[now][t];
}
