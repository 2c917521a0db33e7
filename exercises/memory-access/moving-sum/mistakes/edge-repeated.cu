// wrong: counted-again
__global__ void moving_sum(const float* x, float* out, int n) {
    __shared__ float tile[256 + 16];
    int first = blockIdx.x * 256 - 8;
    int i = blockIdx.x * 256 + threadIdx.x;
    for (int t = threadIdx.x; t < 256 + 16; t += 256) {
        int j = min(max(first + t, 0), n - 1);
        tile[t] = x[j];
    }
    __syncthreads();
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k <= 16; ++k) sum += tile[threadIdx.x + k];  // <-- here
    out[i] = sum;
}
