// out[r][c] = in[r][c]; rows of `in` are `pitch` bytes apart, those of out follow each other. Blocks: 32 x 8 threads.
__global__ void unpitch(const float* in, float* out, int rows, int cols, int pitch) {
    // your code
    // end of your code
}
