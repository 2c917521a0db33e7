// wrong: part-not-written
__global__ void scale(const float* x, float* y, float a, int n) {
    int first = blockIdx.x * 8 * blockDim.x + threadIdx.x;
    if (first + 7 * blockDim.x >= n) return;
    for (int k = 0; k < 8; ++k) {
        int i = first + k * blockDim.x;
        y[i] = a * x[i];  // <-- here
    }
}
