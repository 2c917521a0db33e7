// out[c][r] = a[r][c]; a has rows * cols elements. Blocks have 32 x 8 threads and turn a tile of 32 x 32 elements.
__global__ void transpose(const float* a, float* out, int rows, int cols) {
    // your code
    // end of your code
}
