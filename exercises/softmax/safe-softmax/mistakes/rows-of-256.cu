// wrong: out-of-bounds
__global__ void softmax(const float* x, float* y, int n) {
    __shared__ float warps[8];
    int t = threadIdx.x, lane = t % 32;
    const float* row = x + (size_t)blockIdx.x * 256;
    float m = -INFINITY;
    for (int i = t; i < n; i += 256) m = fmaxf(m, row[i]);  // <-- here
    for (int d = 16; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, d));
    if (lane == 0) warps[t / 32] = m;
    __syncthreads();
    m = warps[lane % 8];
    for (int d = 4; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, d));
    __syncthreads();  // the array is used again
    float s = 0;
    for (int i = t; i < n; i += 256) s += expf(row[i] - m);
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);
    if (lane == 0) warps[t / 32] = s;
    __syncthreads();
    s = warps[lane % 8];
    for (int d = 4; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);
    for (int i = t; i < n; i += 256) y[(size_t)blockIdx.x * n + i] = expf(row[i] - m) / s;
}
