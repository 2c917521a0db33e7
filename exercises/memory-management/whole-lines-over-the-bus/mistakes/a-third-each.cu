// slow: bank-conflicts
__global__ void interleave(const float* x, const float* y, const float* z, float* out, int n) {
    __shared__ float tile[3 * 128];
    int t = threadIdx.x, first = blockIdx.x * 128, i = first + t;
    if (i < n) tile[t] = x[i], tile[128 + t] = y[i], tile[256 + t] = z[i];
    __syncthreads();
    for (int k = t; k < 384 && 3 * first + k < 3 * n; k += 128)
        out[3 * first + k] = tile[k % 3 * 128 + k / 3];  // <-- here
}
