// wrong: forgets-before
__global__ void axpy(float a, const float* x, float* y, long long n) {
    long long step = (long long)gridDim.x * blockDim.x;
    long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (long long i = first; i < n; i += step) y[i] = a * x[i];  // <-- here
}
