// slow: instructions
__global__ void keep(const float* x, float* y, int* kept, int n) {
    __shared__ float tile[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    tile[t] = i < n ? x[i] : 0;
    __syncthreads();
    int place = 0;
    for (int k = 0; k < t; k++) place += tile[k] > 0;  // <-- here
    if (tile[t] > 0) y[blockIdx.x * 256 + place] = tile[t];
    if (t == 255) kept[blockIdx.x] = place + (tile[t] > 0);
}
