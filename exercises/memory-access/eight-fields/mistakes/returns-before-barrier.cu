// wrong: barrier
__global__ void weigh(const float* records, const float* w, float* out, int n) {
    __shared__ float tile[256 * 9];
    int first = blockIdx.x * 256, i = first + threadIdx.x;
    if (i >= n) return;
    for (int t = threadIdx.x; t < 256 * 8; t += 256) {
        if (first * 8 + t < n * 8) tile[t / 8 * 9 + t % 8] = records[first * 8 + t];
    }
    __syncthreads();  // <-- here
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += w[k] * tile[9 * threadIdx.x + k];
    out[i] = sum;
}
