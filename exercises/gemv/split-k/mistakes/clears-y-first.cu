// wrong: race-blocks
__global__ void gemv(const float* w, const float* x, float* y, int n, int k) {
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    int from = (long long)k * blockIdx.y / gridDim.y, to = (long long)k * (blockIdx.y + 1) / gridDim.y;
    if (row >= n) return;
    float sum = 0;
    for (int i = from + lane; i < to; i += 32) sum += w[(size_t)row * k + i] * x[i];
    for (int apart = 16; apart; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
    if (lane == 0 && blockIdx.y == 0) y[row] = 0;  // <-- here
    if (lane == 0) atomicAdd(y + row, sum);        // <-- here
}
