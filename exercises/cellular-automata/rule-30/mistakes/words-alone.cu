// wrong: words-apart, no line
__global__ void rule30(const unsigned* cells, unsigned* next, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned self = cells[i], left = self << 1, right = self >> 1;
    next[i] = left ^ (self | right);
}
