// wrong: part-not-written, no line
__global__ void filter(const float* X, const float* K, float* Y, int images, int size) {
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= size) return;
    float2 k = ((const float2*)K)[f];
    for (int i = 0; i < 1; ++i) {
        float2 x = ((const float2*)X)[i * size + f];
        ((float2*)Y)[i * size + f] = make_float2(x.x * k.x - x.y * k.y, x.x * k.y + x.y * k.x);
    }
}
