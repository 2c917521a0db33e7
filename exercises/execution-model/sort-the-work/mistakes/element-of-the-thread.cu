// slow: diverged-instructions
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
    if (i < n) y[i] = scrambled(x[i], x[i] % 4 == 0 ? 64 : 4);  // <-- here
}
