// slow: instructions
// `rounds` rounds of xorshift.
__device__ unsigned scrambled(unsigned x, int rounds) {
#pragma unroll 1
    for (int k = 0; k < rounds; ++k) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    return x;
}

__global__ void scramble(const unsigned* x, unsigned* y, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        unsigned longer = scrambled(x[i], 64), shorter = scrambled(x[i], 4);  // <-- here
        y[i] = x[i] % 4 == 0 ? longer : shorter;
    }
}
