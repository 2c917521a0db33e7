// wrong: shifted
__global__ void scale(const float* x, float* y, float a, int n) {
    int first = blockIdx.x * 8 * blockDim.x + threadIdx.x;
    for (int k = 0; k < 8; ++k) {
        int i = first + k * blockDim.x;
        if (i < n) y[i] = a * x[i > 0 ? i - 1 : 0];  // <-- here
    }
}
