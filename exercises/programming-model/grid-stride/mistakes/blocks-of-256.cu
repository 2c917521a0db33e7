// wrong: part-not-written
__global__ void axpy(float a, const float* x, float* y, long long n) {
    long long step = (long long)gridDim.x * 256;
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < n; i += step) y[i] += a * x[i];  // <-- here
}
