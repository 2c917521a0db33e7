// z = mu + sigma * eps, kl[r] = the sum of 0.5 * (mu^2 + sigma^2 - 1 - v) over row r, where v = log(sigma^2); a warp takes a row.
__global__ void reparam_kl(const float* mu, const float* v, const float* eps, float* z, float* kl, int rows, int d) {
    // your code
    // end of your code
}
