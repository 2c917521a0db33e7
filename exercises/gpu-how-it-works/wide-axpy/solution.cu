// out[i] = a x[i] + y[i] for all i < n; a thread has four neighbours, and the last n % 4 go to the first threads.
__global__ void axpy(const float* x, const float* y, float* out, float a, int n) {
    // your code
    int i = blockIdx.x * blockDim.x + threadIdx.x, packs = n / 4;
    if (i < packs) {
        float4 p = ((const float4*)x)[i], q = ((const float4*)y)[i];
        ((float4*)out)[i] = make_float4(a * p.x + q.x, a * p.y + q.y, a * p.z + q.z, a * p.w + q.w);
    }
    int rest = 4 * packs + i;
    if (rest < n) out[rest] = a * x[rest] + y[rest];
    // end of your code
}
