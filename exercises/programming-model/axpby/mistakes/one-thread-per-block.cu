// slow: few-lanes
__global__ void axpby(float a, const float* x, float b, float* y, int n) {
    if (threadIdx.x > 0) return;
    for (int i = blockIdx.x * blockDim.x; i < n && i < (blockIdx.x + 1) * blockDim.x; ++i) {
        float term = a * x[i];  // <-- here
        if (b != 0) term += b * y[i];
        y[i] = term;
    }
}
