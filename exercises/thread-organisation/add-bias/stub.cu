// out[r][c] = a[r][c] + bias[r]; a and out have rows * cols elements, row after row. Blocks have 32 x 8 threads.
__global__ void add_bias(const float* a, const float* bias, float* out, int rows, int cols) {
    // your code
    // end of your code
}
