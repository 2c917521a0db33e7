// wrong: race
__global__ void add_bias(const float* a, const float* bias, float* out, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r * cols + c < rows * cols) out[r * cols + c] = a[r * cols + c] + bias[r];  // <-- here
}
