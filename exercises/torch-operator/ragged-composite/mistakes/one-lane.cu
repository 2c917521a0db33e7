// slow: instructions
__global__ void composite(const float* alpha, const float* colour, const int* offsets, float* out, int rays) {
    int lane = threadIdx.x % 32, ray = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (ray >= rays) return;
    int begin = offsets[ray], end = offsets[ray + 1];
    if (lane > 0) return;
    float through = 1.0f, sum = 0.0f;
    for (int i = begin; i < end; ++i) {  // <-- here
        sum += through * alpha[i] * colour[i];  // <-- here
        through *= 1.0f - alpha[i];  // <-- here
    }
    out[ray] = sum;
}
