// wrong: race-one-instruction
__global__ void row_sums(const float* x, float* sums, int height, int width) {
    int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
    if (row >= height) return;
    float sum = 0;
    for (int j = lane; j < width; j += 32) sum += x[row * width + j];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    sums[row] = sum;  // <-- here
}
