// wrong: part-not-written
// Each block's 256 numbers form a ring. In a step every number becomes itself plus the number after it.
__global__ void relax(const unsigned* x, unsigned* y, int steps) {
    __shared__ unsigned ring[2][256];
    int t = threadIdx.x, i = t;
    ring[0][t] = x[i];
    for (int s = 0; s < steps; ++s) {
        __syncthreads();
        ring[(s + 1) % 2][t] = ring[s % 2][t] + ring[s % 2][(t + 1) % 256];
    }
    if (blockIdx.x == 0) y[i] = ring[steps % 2][t];  // <-- here
}
