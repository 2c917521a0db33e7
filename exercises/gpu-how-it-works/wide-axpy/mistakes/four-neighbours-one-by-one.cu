// slow: bytes-strided
__global__ void axpy(const float* x, const float* y, float* out, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 4 * i; k < 4 * i + 4 && k < n; ++k) out[k] = a * x[k] + y[k];  // <-- here
}
