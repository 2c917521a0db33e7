// Softmax of row i over its columns 0 to i, and 0 in the others: block i takes row i, with 256 threads.
__global__ void causal(const float* x, float* y, int n) {
    // your code
    // end of your code
}
