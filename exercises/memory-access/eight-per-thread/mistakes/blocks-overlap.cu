// wrong: part-not-written
__global__ void scale(const float* x, float* y, float a, int n) {
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 8; ++k) {
        int i = first + k * blockDim.x;
        if (i < n) y[i] = a * x[i];  // <-- here
    }
}
