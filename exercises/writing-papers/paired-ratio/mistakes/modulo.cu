// wrong: modulo, no line
__global__ void resample(const int* a, const int* b, const unsigned* words, double* ratio, int n, int resamples) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (r >= resamples) return;
    long long sa = 0, sb = 0;
    for (int j = lane; j < n; j += 32) {
        int k = words[(long long)r * n + j] % n;
        sa += a[k];
        sb += b[k];
    }
    for (int d = 16; d > 0; d /= 2) {
        sa += __shfl_down_sync(0xFFFFFFFF, sa, d);
        sb += __shfl_down_sync(0xFFFFFFFF, sb, d);
    }
    if (lane == 0) ratio[r] = (double)sa / (double)sb;
}
