// wrong: mean-of-ratios, no line
__global__ void resample(const int* a, const int* b, const unsigned* words, double* ratio, int n, int resamples) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (r >= resamples) return;
    double sum = 0;
    for (int j = lane; j < n; j += 32) {
        int k = __umulhi(words[(long long)r * n + j], n);
        sum += (double)a[k] / b[k];
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xFFFFFFFF, sum, d);
    if (lane == 0) ratio[r] = sum / n;
}
