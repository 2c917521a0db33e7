// slow: barriers
__global__ void block_sum(const float* data, float* out, int n) {
    __shared__ float tile[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    tile[t] = i < n ? data[i] : 0.0f;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();  // <-- here
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}
