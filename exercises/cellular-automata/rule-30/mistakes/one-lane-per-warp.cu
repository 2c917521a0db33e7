// slow: instructions
__global__ void rule30(const unsigned* cells, unsigned* next, int n) {
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x % 32) return;
    for (int i = first; i < min(n, first + 32); ++i) {                                                      // <-- here
        unsigned self = cells[i], before = cells[i ? i - 1 : n - 1], after = cells[i + 1 < n ? i + 1 : 0];  // <-- here
        unsigned left = self << 1 | before >> 31, right = self >> 1 | after << 31;                          // <-- here
        next[i] = left ^ (self | right);                                                                    // <-- here
    }
}
