// y[i] += a * x[i] for all i < n, by a grid of any number of blocks, of any number of threads (x only).
__global__ void axpy(float a, const float* x, float* y, long long n) {
    // your code
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) y[i] += a * x[i];
    // end of your code
}
