// slow: uncoalesced
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[32][33], bs[32][33];
    int x = threadIdx.x, top = blockIdx.y * 32, left = blockIdx.x * 32;
    float sum[4] = {};
    for (int start = 0; start < k; start += 32) {
        for (int y = threadIdx.y; y < 32; y += 8) {
            as[y][x] = top + y < m && start + x < k ? a[(top + y) * k + start + x] : 0;
            bs[x][y] = left + x < n && start + y < k ? b[(left + x) * k + start + y] : 0;  // <-- here
        }
        __syncthreads();
        for (int i = 0; i < 32; i++)
            for (int j = 0; j < 4; j++) sum[j] += as[threadIdx.y + 8 * j][i] * bs[x][i];
        __syncthreads();
    }
    for (int j = 0; j < 4; j++) {
        int row = top + threadIdx.y + 8 * j;
        if (row < m && left + x < n) c[row * n + left + x] = sum[j];
    }
}
