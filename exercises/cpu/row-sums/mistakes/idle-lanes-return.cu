// wrong: inactive-lane
__global__ void row_sums(const float* x, float* sums, int height, int width) {
    int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
    if (row >= height || lane >= width) return;
    float sum = 0;
    for (int j = lane; j < width; j += 32) sum += x[row * width + j];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);  // <-- here
    if (lane == 0) sums[row] = sum;
}
