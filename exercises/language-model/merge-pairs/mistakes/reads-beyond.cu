// wrong: out-of-bounds
__global__ void mark(const int* ids, int* hit, int n, int a, int b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int found = ids[i] == a && ids[i + 1] == b;  // <-- here
    if (found && a == b)
        for (int j = i; j > 0 && ids[j - 1] == a; --j) found = !found;
    hit[i] = found;
}
