// Gradients for m and v = log(sigma^2), if z = m + sigma * e has the gradient dz; the KL term adds its own.
__global__ void backward(const float* dz, const float* m, const float* v, const float* e, float* dm, float* dv, int n) {
    // your code
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sigma = expf(0.5f * v[i]), d = dz[i];
    dm[i] = d + m[i];
    dv[i] = 0.5f * (d * e[i] * sigma + sigma * sigma - 1);
    // end of your code
}
