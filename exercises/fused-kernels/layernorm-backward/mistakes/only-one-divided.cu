// wrong: tilt-not-divided
__global__ void backward(const float* dy, const float* x, const float* gamma, const float* stats, float* dx, int n) {
    int lane = threadIdx.x, r = blockIdx.x;
    size_t start = (size_t)r * n;
    float m = stats[2 * r], f = stats[2 * r + 1], level = 0, tilt = 0;
    for (int i = lane; i < n; i += 32) {
        float g = dy[start + i] * gamma[i];
        level += g;
        tilt += g * (x[start + i] - m) * f;
    }
    for (int d = 16; d > 0; d /= 2) {
        level += __shfl_xor_sync(0xffffffff, level, d);
        tilt += __shfl_xor_sync(0xffffffff, tilt, d);
    }
    level /= n;
    for (int i = lane; i < n; i += 32) {
        float g = dy[start + i] * gamma[i], normal = (x[start + i] - m) * f;
        dx[start + i] = f * (g - level - normal * tilt);  // <-- here
    }
}
