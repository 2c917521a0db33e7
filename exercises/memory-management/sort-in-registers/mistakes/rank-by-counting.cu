// slow: instructions
__global__ void sort_columns(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = x[k * n + i];
    for (int k = 0; k < 8; ++k) {
        int rank = 0;
        for (int j = 0; j < 8; ++j) rank += v[j] < v[k] || (v[j] == v[k] && j < k);  // <-- here
        y[rank * n + i] = v[k];
    }
}
