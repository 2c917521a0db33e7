// slow: instructions
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[32][8], bs[8][32];
    int t = threadIdx.x, x = t % 32, y = t / 32 * 8, top = blockIdx.y * 32, left = blockIdx.x * 32;
    float sum[8] = {};
    for (int start = 0; start < k; start += 8) {
        for (int i = t; i < 256; i += 128) {
            int row = top + i / 8, column = left + i % 32;
            as[i / 8][i % 8] = row < m && start + i % 8 < k ? a[row * k + start + i % 8] : 0;
            bs[i / 32][i % 32] = start + i / 32 < k && column < n ? b[(start + i / 32) * n + column] : 0;
        }
        __syncthreads();
        for (int i = 0; i < 8; i++) {
            for (int s = 0; s < 8; s++) {
                const volatile float *one = &bs[s][x], *other = &as[y + i][s];
                sum[i] += *other * *one;  // <-- here
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        if (top + y + i < m && left + x < n) c[(top + y + i) * n + left + x] = sum[i];
}
