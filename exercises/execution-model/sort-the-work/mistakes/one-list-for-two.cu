// wrong: race-one-instruction
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
    __shared__ int list[256], longer, shorter;
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (t == 0) longer = shorter = 0;
    __syncthreads();
    if (i < n) {
        int place = x[i] % 4 == 0 ? atomicAdd(&longer, 1) : atomicAdd(&shorter, 1);
        list[place] = i;  // <-- here
    }
    __syncthreads();
    if (i < n) y[list[t]] = scrambled(x[list[t]], t < longer ? 64 : 4);
}
