// wrong: not-sigma, no line
__global__ void backward(const float* dz, const float* m, const float* v, const float* e, float* dm, float* dv, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sigma = v[i], d = dz[i];
    dm[i] = d + m[i];
    dv[i] = 0.5f * (d * e[i] * sigma + sigma * sigma - 1);
}
