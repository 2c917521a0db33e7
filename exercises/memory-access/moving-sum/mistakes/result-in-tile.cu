// wrong: race
__global__ void moving_sum(const float* x, float* out, int n) {
    __shared__ float tile[256 + 16];
    int first = blockIdx.x * 256 - 8;
    int i = blockIdx.x * 256 + threadIdx.x;
    for (int t = threadIdx.x; t < 256 + 16; t += 256) {
        int j = first + t;
        tile[t] = 0 <= j && j < n ? x[j] : 0.0f;
    }
    __syncthreads();
    int t = threadIdx.x;
    float sum = 0;
    for (int k = 0; k <= 16; ++k) sum += tile[t + k];  // <-- here
    tile[t] = sum;                                     // <-- here
    if (i < n) out[i] = tile[t];
}
