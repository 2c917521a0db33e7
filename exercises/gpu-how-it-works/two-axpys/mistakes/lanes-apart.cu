// slow: bytes-strided
__global__ void add_both(const float* x, const float* y, const float* z, float* out, float a, float b, int n) {
    int t = threadIdx.x % 32 * 8 + threadIdx.x / 32, i = blockIdx.x * blockDim.x + t;
    if (i < n) out[i] = a * x[i] + b * y[i] + z[i];  // <-- here
}
