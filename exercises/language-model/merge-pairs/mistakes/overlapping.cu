// wrong: overlapping, no line
__global__ void mark(const int* ids, int* hit, int n, int a, int b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int found = i + 1 < n && ids[i] == a && ids[i + 1] == b;
    hit[i] = found;
}
