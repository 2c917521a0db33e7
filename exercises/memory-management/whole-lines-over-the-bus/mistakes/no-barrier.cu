// wrong: race
__global__ void interleave(const float* x, const float* y, const float* z, float* out, int n) {
    __shared__ float tile[384];
    int t = threadIdx.x, first = blockIdx.x * 128, i = first + t;
    if (i < n) tile[3 * t] = x[i], tile[3 * t + 1] = y[i], tile[3 * t + 2] = z[i];             // <-- here
    for (int k = t; k < 384 && 3 * first + k < 3 * n; k += 128) out[3 * first + k] = tile[k];  // <-- here
}
