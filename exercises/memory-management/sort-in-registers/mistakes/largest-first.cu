// wrong: largest-first, no line
__global__ void sort_columns(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = x[k * n + i];
#pragma unroll
    for (int round = 0; round < 8; ++round)
#pragma unroll
        for (int k = round % 2; k + 1 < 8; k += 2) {
            int low = min(v[k], v[k + 1]), high = max(v[k], v[k + 1]);
            v[k] = high;
            v[k + 1] = low;
        }
#pragma unroll
    for (int k = 0; k < 8; ++k) y[k * n + i] = v[k];
}
