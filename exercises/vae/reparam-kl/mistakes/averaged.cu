// wrong: averaged, no line
__global__ void reparam_kl(const float* mu, const float* v, const float* eps, float* z, float* kl, int rows, int d) {
    int lane = threadIdx.x % 32, r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows) return;
    float sum = 0;
    for (int i = r * d + lane; i < (r + 1) * d; i += 32) {
        float m = mu[i], l = v[i], sigma = expf(0.5f * l);
        z[i] = m + sigma * eps[i];
        sum += 0.5f * (m * m + sigma * sigma - 1 - l);
    }
    for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffff, sum, k);
    if (lane == 0) kl[r] = sum / d;
}
