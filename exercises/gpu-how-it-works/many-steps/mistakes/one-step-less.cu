// wrong: one-round-off, no line
__global__ void advance(const unsigned* x, unsigned* y, unsigned a, unsigned c, int rounds, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = x[i];
    for (int k = 1; k < rounds; ++k) v = a * v + c;
    y[i] = v;
}
