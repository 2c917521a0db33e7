// ratio[r]: the sums of a and b over one resample of the n pairs. A warp per resample.
__global__ void resample(const int* a, const int* b, const unsigned* words, double* ratio, int n, int resamples) {
    // your code
    // end of your code
}
