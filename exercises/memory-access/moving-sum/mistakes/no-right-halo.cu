// wrong: uninitialised
__global__ void moving_sum(const float* x, float* out, int n) {
    __shared__ float tile[256 + 16];
    int first = blockIdx.x * 256 - 8;
    int i = blockIdx.x * 256 + threadIdx.x;
    int t = threadIdx.x;
    tile[t + 8] = i < n ? x[i] : 0.0f;
    if (t < 8) tile[t] = i >= 8 && i - 8 < n ? x[i - 8] : 0.0f;
    __syncthreads();
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k <= 16; ++k) sum += tile[t + k];  // <-- here
    out[i] = sum;
}
