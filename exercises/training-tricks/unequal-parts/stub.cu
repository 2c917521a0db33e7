// The mean gradient over all tokens of a batch, one thread per parameter.
__global__ void combine(float* grad, const float* mean, const int* count, int parts, int n) {
    // your code
    // end of your code
}
