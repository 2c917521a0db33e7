// slow: few-lanes
__global__ void axpy(float a, const float* x, float* y, long long n) {
    if (blockIdx.x > 0 || threadIdx.x > 0) return;
    for (long long i = 0; i < n; ++i) {
        y[i] += a * x[i];  // <-- here
    }
}
