// hit[i] becomes 1 where tokens i and i + 1 are merged, else 0: all pairs a b, of overlapping ones the left.
__global__ void mark(const int* ids, int* hit, int n, int a, int b) {
    // your code
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int found = i + 1 < n && ids[i] == a && ids[i + 1] == b;
    if (found && a == b)
        for (int j = i; j > 0 && ids[j - 1] == a; --j) found = !found;
    hit[i] = found;
    // end of your code
}
