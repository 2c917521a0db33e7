// y[i] += a * x[i] for all i < n, by a grid of any number of blocks, of any number of threads (x only).
__global__ void axpy(float a, const float* x, float* y, long long n) {
    // your code
    // end of your code
}
