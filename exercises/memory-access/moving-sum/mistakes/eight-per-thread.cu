// slow: bank-conflicts
__global__ void moving_sum(const float* x, float* out, int n) {
    __shared__ float tile[256 + 16];
    int first = blockIdx.x * 256 - 8;
    for (int t = threadIdx.x; t < 256 + 16; t += 256) {
        int j = first + t;
        tile[t] = 0 <= j && j < n ? x[j] : 0.0f;
    }
    __syncthreads();
    if (threadIdx.x >= 32) return;
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += tile[8 * threadIdx.x + k];  // <-- here
    for (int k = 0; k < 8; ++k) {
        int t = 8 * threadIdx.x + k, i = blockIdx.x * 256 + t;
        sum += tile[t + 16];  // <-- here
        if (i < n) out[i] = sum;
        sum -= tile[t];  // <-- here
    }
}
