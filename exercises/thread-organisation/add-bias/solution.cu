// out[r][c] = a[r][c] + bias[r]; a and out have rows * cols elements, row after row. Blocks have 32 x 8 threads.
__global__ void add_bias(const float* a, const float* bias, float* out, int rows, int cols) {
    // your code
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) out[r * cols + c] = a[r * cols + c] + bias[r];
    // end of your code
}
