// wrong: part-not-written, no line
__global__ void axpy(const float* x, const float* y, float* out, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, packs = n / 4;
    if (i < packs) {
        float4 p = ((const float4*)x)[i], q = ((const float4*)y)[i];
        ((float4*)out)[i] = make_float4(a * p.x + q.x, a * p.y + q.y, a * p.z + q.z, a * p.w + q.w);
    }
    int rest = i;
    if (rest < n % 4) out[rest] = a * x[rest] + y[rest];
}
