// wrong: part-not-written, no line
__global__ void filter(const float* X, const float* K, float* Y, int images, int size) {
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= size) return;
    for (int i = 0; i < images; ++i) {
        const float *x = X + i * size + f, *k = K + f;
        float* y = Y + i * size + f;
        y[0] = x[0] * k[0];
    }
}
