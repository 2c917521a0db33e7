// wrong: out-of-bounds
__global__ void rule30(const unsigned* cells, unsigned* next, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned self = cells[i], before = cells[i ? i - 1 : n - 1], after = cells[i + 1 < n ? i + 1 : 0];  // <-- here
    unsigned left = self << 1 | before >> 31, right = self >> 1 | after << 31;
    next[i] = left ^ (self | right);
}
