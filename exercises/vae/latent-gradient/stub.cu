// Gradients for mu and logvar, if z = mu + sigma * noise has the gradient dz and each KL term counts weight times.
__global__ void latent_gradient(const float* dz, const float* mu, const float* logvar, const float* noise, float* dmu,
                                float* dlogvar, float weight, int n) {
    // your code
    // end of your code
}
