// wrong: inactive-lane
__global__ void weigh(const float* records, const float* w, float* out, int n) {
    int k = threadIdx.x % 8;
    float weight = w[k];
    for (int turn = 0; turn < 8; ++turn) {
        int i = blockIdx.x * 256 + turn * 32 + threadIdx.x / 8;
        if (i >= n) return;
        float sum = weight * records[8 * i + k];
        for (int d = 4; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);  // <-- here
        if (k == 0) out[i] = sum;
    }
}
