// wrong: part-not-written
__global__ void pull(const int* offsets, const int* sources, const float* share, float* sums, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    float sum = 0;
    if (row < rows) {
        int end = offsets[row + 1];
        for (int e = offsets[row] + lane; e < end; e += 8) sum += share[sources[e]];
    }
    for (int s = 4; s; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s, 8);
    if (row < rows && lane == 0 && offsets[row] < offsets[row + 1]) sums[row] = sum;  // <-- here
}
