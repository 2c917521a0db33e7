// wrong: out-of-bounds
__global__ void backward(const float* dz, const float* m, const float* v, const float* e, float* dm, float* dv, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sigma = expf(0.5f * v[i]), d = dz[i];  // <-- here
    dm[i] = d + m[i];
    dv[i] = 0.5f * (d * e[i] * sigma + sigma * sigma - 1);
}
