// y[i] is x[i] after `rounds` steps v = a v + c, modulo 2^32.
__global__ void advance(const unsigned* x, unsigned* y, unsigned a, unsigned c, int rounds, int n) {
    // your code
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = x[i];
    for (int k = 0; k < rounds; ++k) v = a * v + c;
    y[i] = v;
    // end of your code
}
