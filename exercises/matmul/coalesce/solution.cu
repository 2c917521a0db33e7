// c = a b, row-major: a is m x k, b is k x n. Blocks have 32 x 8 threads; blockIdx.x counts columns.
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    // your code
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    float sum = 0;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
    // end of your code
}
