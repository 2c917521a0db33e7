// wrong: not-conjugated, no line
__global__ void separate(const float* z, float* x, float* y, int H, int W) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= H * W) return;
    int u = i / W, v = i % W;
    int partner = (u ? H - u : 0) * W + (v ? W - v : 0);
    float2 p = ((const float2*)z)[i], q = ((const float2*)z)[partner];
    ((float2*)x)[i] = make_float2((p.x + q.x) / 2, (p.y + q.y) / 2);
    ((float2*)y)[i] = make_float2((p.y - q.y) / 2, (q.x - p.x) / 2);
}
