// wrong: different, no line
__global__ void axpy(const float* x, const float* y, float* out, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, packs = n / 4;
    if (i < packs) {
        float4 p = ((const float4*)x)[i], q = ((const float4*)y)[i];
        ((float4*)out)[i] = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
    }
    int rest = 4 * packs + i;
    if (rest < n) out[rest] = x[rest] + y[rest];
}
