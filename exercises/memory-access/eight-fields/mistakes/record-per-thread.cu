// slow: bytes-strided
__global__ void weigh(const float* records, const float* w, float* out, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += w[k] * records[8 * i + k];  // <-- here
    out[i] = sum;
}
