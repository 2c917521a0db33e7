// out[i] = a x[i] + b y[i] + z[i] for all i < n, in one pass. out may not be read.
__global__ void add_both(const float* x, const float* y, const float* z, float* out, float a, float b, int n) {
    // your code
    // end of your code
}
