// wrong: race-blocks
__global__ void axpy(float a, const float* x, float* y, long long n) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = threadIdx.x; i < n; i += step) y[i] += a * x[i];  // <-- here
}
