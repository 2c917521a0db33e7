// slow: bytes-strided
__global__ void interleave(const float* x, const float* y, const float* z, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[3 * i] = x[i];      // <-- here
        out[3 * i + 1] = y[i];  // <-- here
        out[3 * i + 2] = z[i];  // <-- here
    }
}
