// wrong: nan-passes, no line
__global__ void unscale(const float* scaled, float* g, int* bad, float scale, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float x = scaled[i];
    if (!isinf(x)) {
        g[i] = x / scale;
    } else {
        g[i] = 0;
        atomicAdd(bad, 1);
    }
}
