// wrong: out-of-bounds
__global__ void add_bias(const float* a, const float* bias, float* out, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    out[r * cols + c] = a[r * cols + c] + bias[r];  // <-- here
}
