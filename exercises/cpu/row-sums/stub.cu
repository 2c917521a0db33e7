// sums[i] = the sum of row i of x, row-major, height x width. Blocks have 256 threads: a warp for each of 8 rows.
__global__ void row_sums(const float* x, float* sums, int height, int width) {
    // your code
    // end of your code
}
