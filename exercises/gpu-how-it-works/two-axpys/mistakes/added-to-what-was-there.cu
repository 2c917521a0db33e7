// wrong: uninitialised
__global__ void add_both(const float* x, const float* y, const float* z, float* out, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += a * x[i] + b * y[i] + z[i];  // <-- here
}
