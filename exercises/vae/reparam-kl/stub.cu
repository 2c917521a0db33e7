// z = mu + sigma * noise, kl[r] = the sum of 0.5 * (mu^2 + sigma^2 - 1 - logvar) over row r; a warp takes a row.
__global__ void reparam_kl(const float* mu, const float* logvar, const float* noise, float* z, float* kl, int rows,
                           int d) {
    // your code
    // end of your code
}
