// slow: bytes-strided
__global__ void filter(const float* X, const float* K, float* Y, int images, int size) {
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= size) return;
    float kx = K[2 * f], ky = K[2 * f + 1];
    for (int i = 0; i < images; ++i) {
        int at = 2 * (i * size + f);
        volatile const float* x = X + at;
        float a = x[0];  // <-- here
        float b = x[1];  // <-- here
        Y[at] = a * kx - b * ky;
        Y[at + 1] = a * ky + b * kx;
    }
}
