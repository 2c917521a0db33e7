// One step of rule 30 on a ring of 32 * n cells: cell i is bit i % 32 of word i / 32.
__global__ void rule30(const unsigned* cells, unsigned* next, int n) {
    // your code
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned self = cells[i], before = cells[i ? i - 1 : n - 1], after = cells[i + 1 < n ? i + 1 : 0];
    unsigned left = self << 1 | before >> 31, right = self >> 1 | after << 31;
    next[i] = left ^ (self | right);
    // end of your code
}
