// wrong: neighbour-only, no line
__global__ void mark(const int* ids, int* hit, int n, int a, int b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int found = i + 1 < n && ids[i] == a && ids[i + 1] == b;
    if (found && a == b && i > 0 && ids[i - 1] == a) found = 0;
    hit[i] = found;
}
