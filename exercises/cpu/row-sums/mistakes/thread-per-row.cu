// slow: uncoalesced
__global__ void row_sums(const float* x, float* sums, int height, int width) {
    int row = blockIdx.x * 8 + threadIdx.x;
    if (threadIdx.x >= 8 || row >= height) return;
    float sum = 0;
    for (int j = 0; j < width; j++) sum += x[row * width + j];  // <-- here
    sums[row] = sum;
}
