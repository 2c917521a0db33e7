// slow: uncoalesced
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    int t = threadIdx.y * 32 + threadIdx.x;
    int row = blockIdx.y * 8 + t % 8, column = blockIdx.x * 32 + t / 8;
    if (row >= m || column >= n) return;
    float sum = 0;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;  // <-- here
}
