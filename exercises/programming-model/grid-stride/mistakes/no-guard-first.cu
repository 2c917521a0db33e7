// wrong: out-of-bounds
__global__ void axpy(float a, const float* x, float* y, long long n) {
    long long step = (long long)gridDim.x * blockDim.x;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    do {
        y[i] += a * x[i];  // <-- here
        i += step;
    } while (i < n);
}
