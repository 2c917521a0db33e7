// wrong: kl-sign, no line
__global__ void latent_gradient(const float* dz, const float* mu, const float* logvar, const float* noise, float* dmu,
                                float* dlogvar, float weight, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sigma = expf(0.5f * logvar[i]), d = dz[i];
    dmu[i] = d - weight * mu[i];
    dlogvar[i] = 0.5f * (d * noise[i] * sigma + weight * (sigma * sigma - 1));
}
