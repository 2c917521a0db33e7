// slow: uncoalesced
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    int x = threadIdx.x, top = blockIdx.y * 32, left = blockIdx.x * 32;
    float sum[4] = {};
    for (int i = 0; i < k; i++)
        for (int j = 0; j < 4; j++) {
            int row = top + threadIdx.y + 8 * j;
            if (row < m && left + x < n) sum[j] += a[row * k + i] * b[(left + x) * k + i];  // <-- here
        }
    for (int j = 0; j < 4; j++) {
        int row = top + threadIdx.y + 8 * j;
        if (row < m && left + x < n) c[row * n + left + x] = sum[j];
    }
}
