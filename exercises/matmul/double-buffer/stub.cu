// c = a b, row-major: a is m x k, b is k x n. Blocks have 16 x 16 threads and compute 16 x 16 elements of c.
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    // your code
    // end of your code
}
