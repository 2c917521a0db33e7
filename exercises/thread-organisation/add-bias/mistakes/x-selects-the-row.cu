// wrong: part-not-written
__global__ void add_bias(const float* a, const float* bias, float* out, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    int c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) out[r * cols + c] = a[r * cols + c] + bias[r];  // <-- here
}
