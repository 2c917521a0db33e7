// slow: instructions
__global__ void offsets(const int* counts, int* starts, int* sums, int n) {
    __shared__ int tile[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    tile[t] = i < n ? counts[i] : 0;
    __syncthreads();
    int before = 0;
    for (int k = 0; k < t; k++) before += tile[k];  // <-- here
    if (i < n) starts[i] = before;
    if (t == 255) sums[blockIdx.x] = before + tile[t];
}
