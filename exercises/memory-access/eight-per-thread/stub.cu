// y[i] = a * x[i] for all i < n. Each thread scales eight elements; a block has 256 threads and 2048 elements.
__global__ void scale(const float* x, float* y, float a, int n) {
    // your code
    // end of your code
}
