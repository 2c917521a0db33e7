// slow: bytes
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int start = 0; start < k; start += 16) {
        for (int i = start; i < start + 16 && i < k; i++)
            if (row < m && column < n) sum += a[row * k + i] * b[i * n + column];  // <-- here
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
