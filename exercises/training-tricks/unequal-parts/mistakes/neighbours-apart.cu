// slow: uncoalesced
__global__ void combine(float* grad, const float* mean, const int* count, int parts, int n) {
    int i = blockIdx.x * 256 + threadIdx.x % 32 * 8 + threadIdx.x / 32;
    if (i >= n) return;
    float sum = 0;
    int total = 0;
    for (int k = 0; k < parts; ++k) {
        if (count[k] == 0) continue;
        sum += count[k] * mean[k * n + i];  // <-- here
        total += count[k];
    }
    grad[i] = sum / total;
}
