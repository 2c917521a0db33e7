// slow: uncoalesced
__global__ void resample(const int* a, const int* b, const unsigned* words, double* ratio, int n, int resamples) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= resamples) return;
    long long sa = 0, sb = 0;
    for (int j = 0; j < n; j++) {
        int k = __umulhi(words[(long long)r * n + j], n);  // <-- here
        sa += a[k];
        sb += b[k];
    }
    ratio[r] = (double)sa / (double)sb;
}
