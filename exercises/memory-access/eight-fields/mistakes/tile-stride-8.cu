// slow: bank-conflicts
__global__ void weigh(const float* records, const float* w, float* out, int n) {
    __shared__ float tile[256 * 8];
    int first = blockIdx.x * 256;
    for (int t = threadIdx.x; t < 256 * 8; t += 256) {
        if (first * 8 + t < n * 8) tile[t] = records[first * 8 + t];
    }
    __syncthreads();
    int i = first + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += w[k] * tile[8 * threadIdx.x + k];  // <-- here
    out[i] = sum;
}
