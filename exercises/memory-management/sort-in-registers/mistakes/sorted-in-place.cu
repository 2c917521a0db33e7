// slow: bytes
__global__ void sort_columns(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < 8; ++k) y[k * n + i] = x[k * n + i];
    for (int round = 0; round < 8; ++round)
        for (int k = round % 2; k + 1 < 8; k += 2) {
            int low = min(y[k * n + i], y[(k + 1) * n + i]);   // <-- here
            int high = max(y[k * n + i], y[(k + 1) * n + i]);  // <-- here
            y[k * n + i] = low;                                // <-- here
            y[(k + 1) * n + i] = high;                         // <-- here
        }
}
