// out[3 i], out[3 i + 1], out[3 i + 2] = x[i], y[i], z[i] for all i < n. A block has 128 threads and 128 triples.
__global__ void interleave(const float* x, const float* y, const float* z, float* out, int n) {
    // your code
    __shared__ float tile[384];
    int t = threadIdx.x, first = blockIdx.x * 128, i = first + t;
    if (i < n) tile[3 * t] = x[i], tile[3 * t + 1] = y[i], tile[3 * t + 2] = z[i];
    __syncthreads();
    for (int k = t; k < 384 && 3 * first + k < 3 * n; k += 128) out[3 * first + k] = tile[k];
    // end of your code
}
