// Gradients for m and v = log(sigma^2), if z = m + sigma * e has the gradient dz; the KL term adds its own.
__global__ void backward(const float* dz, const float* m, const float* v, const float* e, float* dm, float* dv, int n) {
    // your code
    // end of your code
}
