// wrong: no-label
__global__ void loss_in_place(float* logits, const int* label, float* loss, int n) {
    __shared__ float warps[8];
    int t = threadIdx.x, lane = t % 32, target = label[blockIdx.x];
    float* row = logits + (size_t)blockIdx.x * n;
    if (target < 0) {
        for (int i = t; i < n; i += 256) row[i] = 0;
        if (t == 0) loss[blockIdx.x] = 0;
        return;
    }
    float at = row[target], m = -INFINITY, s = 0;
    for (int i = t; i < n; i += 256) m = fmaxf(m, row[i]);
    for (int d = 16; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, d));
    if (lane == 0) warps[t / 32] = m;
    __syncthreads();
    m = warps[lane % 8];
    for (int d = 4; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, d));
    __syncthreads();  // the array is used again
    for (int i = t; i < n; i += 256) s += expf(row[i] - m);
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);
    if (lane == 0) warps[t / 32] = s;
    __syncthreads();
    s = warps[lane % 8];
    for (int d = 4; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);
    for (int i = t; i < n; i += 256) row[i] = expf(row[i] - m) / s;  // <-- here
    if (t == 0) loss[blockIdx.x] = m + logf(s) - at;
}
