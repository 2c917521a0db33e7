// wrong: other-rounds, no line
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
        if (x[i] % 4 == 0)
            list[atomicAdd(&longer, 1)] = i;  // from the front
        else
            list[255 - atomicAdd(&shorter, 1)] = i;  // from the back
    }
    __syncthreads();
    if (t < longer || t >= 256 - shorter) y[list[t]] = scrambled(x[list[t]], i < n && x[i] % 4 == 0 ? 64 : 4);
}
