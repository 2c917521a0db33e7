// wrong: part-not-written
__global__ void axpy(float a, const float* x, float* y, long long n) {
    long long step = (long long)gridDim.x * blockDim.x;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (long long turn = 0; turn < n / step; ++turn, i += step) y[i] += a * x[i];  // <-- here
}
