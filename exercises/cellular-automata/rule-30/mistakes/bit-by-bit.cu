// slow: instructions
__global__ void rule30(const unsigned* cells, unsigned* next, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned self = cells[i], before = cells[i ? i - 1 : n - 1], after = cells[i + 1 < n ? i + 1 : 0], all = 0;
    for (int k = 0; k < 32; ++k) {                           // <-- here
        unsigned left = k ? self >> (k - 1) : before >> 31;  // <-- here
        unsigned right = k < 31 ? self >> (k + 1) : after;   // <-- here
        all |= ((left ^ (self >> k | right)) & 1) << k;      // <-- here
    }
    next[i] = all;
}
