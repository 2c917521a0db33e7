// c = a b, row-major: a is m x k, b is k x n. Blocks have 32 x 8 threads; blockIdx.x counts columns.
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    // your code
    // end of your code
}
