// slow: bytes
__global__ void moving_sum(const float* x, float* out, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = i - 8; j <= i + 8; ++j) {
        if (0 <= j && j < n) sum += x[j];  // <-- here
    }
    out[i] = sum;
}
