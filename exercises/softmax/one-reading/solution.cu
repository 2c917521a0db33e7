// top[r] = the maximum of row r, sum[r] = the sum of exp(x - top[r]) over it; a warp takes a row.
__global__ void row_stats(const float* x, float* top, float* sum, int rows, int n) {
    // your code
    int lane = threadIdx.x % 32, r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) return;
    float m = -3.402823466e38f, s = 0;
    for (int i = lane; i < n; i += 32) {
        float v = x[(size_t)r * n + i], old = m;
        m = fmaxf(old, v);
        s = s * expf(old - m) + expf(v - m);
    }
    for (int d = 16; d > 0; d /= 2) {
        float other_m = __shfl_xor_sync(0xffffffff, m, d), other_s = __shfl_xor_sync(0xffffffff, s, d), old = m;
        m = fmaxf(old, other_m);
        s = s * expf(old - m) + other_s * expf(other_m - m);
    }
    if (lane == 0) {
        top[r] = m;
        sum[r] = s;
    }
    // end of your code
}
