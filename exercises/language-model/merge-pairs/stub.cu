// hit[i] becomes 1 where tokens i and i + 1 are merged, else 0: all pairs a b, of overlapping ones the left.
__global__ void mark(const int* ids, int* hit, int n, int a, int b) {
    // your code
    // end of your code
}
