// wrong: out-of-bounds
__global__ void unscale(const float* scaled, float* g, int* bad, float scale, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float x = scaled[i];  // <-- here
    if (isfinite(x)) {
        g[i] = x / scale;
    } else {
        g[i] = 0;
        atomicAdd(bad, 1);
    }
}
