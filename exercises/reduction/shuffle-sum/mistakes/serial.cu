// slow: instructions
__global__ void block_sum(const float* data, float* out, int n) {
    __shared__ float tile[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    tile[t] = i < n ? data[i] : 0.0f;
    __syncthreads();
    if (t == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 256; ++k) sum += tile[k];  // <-- here
        out[blockIdx.x] = sum;
    }
}
