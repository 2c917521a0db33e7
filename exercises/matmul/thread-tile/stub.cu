// c = a b, row-major: a is m x k, b is k x n. Blocks have 128 threads and compute 32 x 32 elements of c.
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    // your code
    // end of your code
}
