// sums[row] = the sum of share[sources[e]] over the edges e of the row, eight lanes per row.
__global__ void pull(const int* offsets, const int* sources, const float* share, float* sums, int rows) {
    // your code
    // end of your code
}
