// out[3 i], out[3 i + 1], out[3 i + 2] = x[i], y[i], z[i] for all i < n. A block has 128 threads and 128 triples.
__global__ void interleave(const float* x, const float* y, const float* z, float* out, int n) {
    // your code
    // end of your code
}
