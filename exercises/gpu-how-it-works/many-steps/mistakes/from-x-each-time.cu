// wrong: different, no line
__global__ void advance(const unsigned* x, unsigned* y, unsigned a, unsigned c, int rounds, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = x[i];
    for (int k = 0; k < rounds; ++k) v = a * x[i] + c;
    y[i] = v;
}
