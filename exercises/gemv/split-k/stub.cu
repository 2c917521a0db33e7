// y += w x: w has n rows of k floats. A block has 8 warps, one row each, and takes part blockIdx.y of gridDim.y of the columns.
__global__ void gemv(const float* w, const float* x, float* y, int n, int k) {
    // your code
    // end of your code
}
