// y = x convolved with nine weights that lie d apart, zeros around x. Blocks have 16 x 16 threads and compute 16 x 16 outputs.
__global__ void conv(const float* x, const float* w, float* y, int rows, int columns, int d) {
    __shared__ float tile[32][32];  // d is at most 8
    // your code
    // end of your code
}
