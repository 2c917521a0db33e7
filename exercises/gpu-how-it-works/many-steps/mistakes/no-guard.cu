// wrong: out-of-bounds
__global__ void advance(const unsigned* x, unsigned* y, unsigned a, unsigned c, int rounds, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = x[i];  // <-- here
    for (int k = 0; k < rounds; ++k) v = a * v + c;
    y[i] = v;
}
