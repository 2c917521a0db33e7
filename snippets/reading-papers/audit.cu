// How easily does a printed result come out of printed inputs? Draw inputs that round to what is printed, and count.

// --8<-- [start:draw]
// A hash of 64 bits to 64 bits (the finaliser of splitmix64): sample `i` of input `k` needs no state.
__device__ double uniform(unsigned long long i, unsigned k) {
    unsigned long long z = (i * 8 + k + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}
// --8<-- [end:draw]

// --8<-- [start:agree]
// Block r takes row r: result = scale * inputs, multiplied or divided. Counts the draws with least <= result <= most.
// `draws` is a multiple of the block, so that all its threads come to the count.
extern "C" __global__ void agree(const double* low, const double* high, const int* power, const double* scale,
                                 const double* least, const double* most, int* count, int inputs, int draws) {
    int r = blockIdx.x, mine = 0;
    for (int i = threadIdx.x; i < draws; i += blockDim.x) {
        double result = scale[r];
        for (int k = 0; k < inputs; ++k) {
            int j = r * inputs + k;
            double x = __dadd_rn(low[j], __dmul_rn(high[j] - low[j], uniform(i, k)));  // not fused: NumPy's bits
            if (power[j] > 0) result *= x;
            if (power[j] < 0) result /= x;
        }
        mine += __syncthreads_count(least[r] <= result && result <= most[r]);
    }
    if (threadIdx.x == 0) count[r] = mine;
}
// --8<-- [end:agree]
