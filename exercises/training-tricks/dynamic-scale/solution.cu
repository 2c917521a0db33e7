// g = scaled / scale, with 0 where scaled is infinite or NaN; bad[0] grows by the number of these.
__global__ void unscale(const float* scaled, float* g, int* bad, float scale, int n) {
    // your code
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float x = scaled[i];
    if (isfinite(x)) {
        g[i] = x / scale;
    } else {
        g[i] = 0;
        atomicAdd(bad, 1);
    }
    // end of your code
}
