// slow: instructions, no line
__global__ void axpy(const float* x, const float* y, float* out, float a, int n) {
    for (int k = 0; k < 4; ++k) {
        int i = (4 * blockIdx.x + k) * blockDim.x + threadIdx.x;
        if (i < n) out[i] = a * x[i] + y[i];
    }
}
