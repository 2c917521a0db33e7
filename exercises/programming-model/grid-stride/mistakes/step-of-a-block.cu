// wrong: race-blocks
__global__ void axpy(float a, const float* x, float* y, long long n) {
    long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (long long i = first; i < n; i += blockDim.x) y[i] += a * x[i];  // <-- here
}
