// slow: uncoalesced
__global__ void row_sums(const float* x, float* sums, int height, int width) {
    int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
    if (row >= height) return;
    int piece = (width + 31) / 32, end = min((lane + 1) * piece, width);
    float sum = 0;
    for (int j = lane * piece; j < end; j++) sum += x[row * width + j];  // <-- here
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) sums[row] = sum;
}
