// wrong: out-of-bounds
__global__ void advance(const unsigned* x, unsigned* y, unsigned a, unsigned c, int rounds, int n) {
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    for (int j = i; j < i + 2; ++j) {
        unsigned v = x[j];  // <-- here
        for (int k = 0; k < rounds; ++k) v = a * v + c;
        y[j] = v;
    }
}
