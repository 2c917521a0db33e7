// slow: bytes-strided
__global__ void axpy(float a, const float* x, float* y, long long n) {
    long long threads = (long long)gridDim.x * blockDim.x;
    long long each = (n + threads - 1) / threads;
    long long first = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * each;
    for (long long i = first; i < first + each && i < n; ++i) {
        y[i] += a * x[i];  // <-- here
    }
}
