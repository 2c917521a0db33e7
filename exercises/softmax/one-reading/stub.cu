// top[r] = the maximum of row r, sum[r] = the sum of exp(x - top[r]) over it; a warp takes a row.
__global__ void row_stats(const float* x, float* top, float* sum, int rows, int n) {
    // your code
    // end of your code
}
