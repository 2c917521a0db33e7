// wrong: barrier
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[16][16], bs[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    if (row >= m || column >= n) return;
    float sum = 0;
    for (int start = 0; start < k; start += 16) {
        as[y][x] = row < m && start + x < k ? a[row * k + start + x] : 0;
        bs[y][x] = start + y < k && column < n ? b[(start + y) * n + column] : 0;
        __syncthreads();  // <-- here
        for (int i = 0; i < 16; i++) sum += as[y][i] * bs[i][x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
