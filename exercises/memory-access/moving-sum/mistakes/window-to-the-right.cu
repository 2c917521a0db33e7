// wrong: shifted
__global__ void moving_sum(const float* x, float* out, int n) {
    __shared__ float tile[256 + 16];
    int first = blockIdx.x * 256 - 8;
    int i = blockIdx.x * 256 + threadIdx.x;
    for (int t = threadIdx.x; t < 256 + 16; t += 256) {
        int j = blockIdx.x * 256 + t;
        tile[t] = j < n ? x[j] : 0.0f;
    }
    __syncthreads();
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k <= 16; ++k) sum += tile[threadIdx.x + k];
    out[i] = sum;  // <-- here
}
