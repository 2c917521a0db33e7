// slow: instructions
__global__ void row_stats(const float* x, float* top, float* sum, int rows, int n) {
    int lane = threadIdx.x % 32, r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) return;
    float m = -3.402823466e38f, s = 0;
    for (int k = 0; k < n; k += 32) {
        float own = k + lane < n ? x[(size_t)r * n + k + lane] : m, v = own, old = m, e = 0;
        for (int d = 16; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, d));  // <-- here
        m = fmaxf(m, v);
        if (k + lane < n) e = expf(own - m);
        for (int d = 16; d > 0; d /= 2) e += __shfl_xor_sync(0xffffffff, e, d);  // <-- here
        s = s * expf(old - m) + e;
    }
    if (lane == 0) {
        top[r] = m;
        sum[r] = s;
    }
}
