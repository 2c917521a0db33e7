// y[i] = a * x[i] for all i < n. Each thread scales eight elements; a block has 256 threads and 2048 elements.
__global__ void scale(const float* x, float* y, float a, int n) {
    // your code
    int first = blockIdx.x * 8 * blockDim.x + threadIdx.x;
    for (int k = 0; k < 8; ++k) {
        int i = first + k * blockDim.x;
        if (i < n) y[i] = a * x[i];
    }
    // end of your code
}
