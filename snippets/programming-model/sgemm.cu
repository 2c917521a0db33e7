// C ← alpha A B + beta C for row-major matrices: one thread for each element of C.

extern "C" {

// --8<-- [start:sgemm]
__global__ void sgemm(int m, int n, int k, float alpha, const float* A, const float* B, float beta, float* C) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;  // x runs along a row
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;

    float sum = 0;
    for (int i = 0; i < k; ++i) sum += A[row * k + i] * B[i * n + col];
    float old = beta == 0 ? 0 : beta * C[row * n + col];  // beta = 0: C is not read, whatever it holds
    C[row * n + col] = alpha * sum + old;
}
// --8<-- [end:sgemm]
}
