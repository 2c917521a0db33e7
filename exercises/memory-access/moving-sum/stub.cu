// out[i] = x[i - 8] + ... + x[i + 8] for all i < n; elements before the first and after the last are 0.
__global__ void moving_sum(const float* x, float* out, int n) {
    // your code
    // end of your code
}
