// c[i] = a[i] + b[i] for all i < n. Blocks have 256 threads; there are just enough of them.
__global__ void add(const float* a, const float* b, float* c, int n) {
    // your code
    // end of your code
}
