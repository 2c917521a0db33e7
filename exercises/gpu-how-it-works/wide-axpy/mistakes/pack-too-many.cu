// wrong: out-of-bounds
__global__ void axpy(const float* x, const float* y, float* out, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, packs = (n + 3) / 4;
    if (i < packs) {
        float4 p = ((const float4*)x)[i], q = ((const float4*)y)[i];  // <-- here
        ((float4*)out)[i] = make_float4(a * p.x + q.x, a * p.y + q.y, a * p.z + q.z, a * p.w + q.w);
    }
}
