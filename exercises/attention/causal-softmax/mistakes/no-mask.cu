// wrong: not-masked, no line
__global__ void causal(const float* x, float* y, int n) {
    __shared__ float tops[8], sums[8];
    int t = threadIdx.x, lane = t % 32, i = blockIdx.x;
    const float* row = x + (size_t)i * n;
    float m = -INFINITY, s = 0;
    for (int j = t; j < n; j += 256) m = fmaxf(m, row[j]);
    for (int d = 16; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, d));
    if (lane == 0) tops[t / 32] = m;
    __syncthreads();
    m = tops[lane % 8];
    for (int d = 4; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, d));
    for (int j = t; j < n; j += 256) s += expf(row[j] - m);
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);
    if (lane == 0) sums[t / 32] = s;
    __syncthreads();
    s = sums[lane % 8];
    for (int d = 4; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);
    for (int j = t; j < n; j += 256) y[(size_t)i * n + j] = expf(row[j] - m) / s;
}
