__global__ void composite(const float* alpha, const float* colour, const int* offsets, float* out, int rays) {
    int lane = threadIdx.x % 32, ray = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (ray >= rays) return;
    // your code
    // end of your code
}
