// c = a bT, row-major: a is m x k, b is n x k. Blocks have 32 x 8 threads and compute 32 x 32 elements of c.
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    // your code
    // end of your code
}
