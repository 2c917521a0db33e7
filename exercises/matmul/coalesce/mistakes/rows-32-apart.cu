// wrong: part-not-written
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    float sum = 0;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;  // <-- here
}
