// wrong: uninitialised
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[2][16][16], bs[2][16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float next_a = row < m && x < k ? a[row * k + x] : 0;
    float next_b = y < k && column < n ? b[y * n + column] : 0;
    float sum = 0;
    for (int start = 0, s = 0; start < k; start += 16, s ^= 1) {
        as[s][y][x] = next_a;
        bs[s][y][x] = next_b;
        __syncthreads();
        int next = start + 16;
        next_a = row < m && next + x < k ? a[row * k + next + x] : 0;
        next_b = next + y < k && column < n ? b[(next + y) * n + column] : 0;
        for (int i = 0; i < 16; i++) sum += as[s ^ 1][y][i] * bs[s ^ 1][i][x];  // <-- here
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
