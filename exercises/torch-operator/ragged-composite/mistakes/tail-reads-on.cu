// wrong: out-of-bounds
__global__ void composite(const float* alpha, const float* colour, const int* offsets, float* out, int rays) {
    int lane = threadIdx.x % 32, ray = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (ray >= rays) return;
    int begin = offsets[ray], end = offsets[ray + 1];
    float through = 1.0f, sum = 0.0f;
    for (int first = begin; first < end; first += 32) {
        int i = first + lane;
        float a = alpha[i];  // <-- here
        float product = 1.0f - a;
        for (int d = 1; d < 32; d *= 2) {
            float left = __shfl_up_sync(0xffffffff, product, d);
            if (lane >= d) product *= left;
        }
        float before = __shfl_up_sync(0xffffffff, product, 1);
        if (lane == 0) before = 1.0f;
        if (i < end) sum += through * before * a * colour[i];
        through *= __shfl_sync(0xffffffff, product, 31);
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) out[ray] = sum;
}
