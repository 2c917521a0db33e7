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

// y[i] = scrambled(x[i], 64) where x[i] is a multiple of 4, and scrambled(x[i], 4) elsewhere.
__global__ void scramble(const unsigned* x, unsigned* y, int n) {
    // your code
    // end of your code
}
