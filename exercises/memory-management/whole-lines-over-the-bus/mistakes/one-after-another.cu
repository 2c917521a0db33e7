// wrong: one-after-another, no line
__global__ void interleave(const float* x, const float* y, const float* z, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i], out[n + i] = y[i], out[2 * n + i] = z[i];
}
