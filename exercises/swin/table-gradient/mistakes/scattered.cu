// slow: atomics
__global__ void gather(const float* ds, float* partial, int m) {
    int n = m * m, side = 2 * m - 1, v = blockIdx.x;
    for (int e = threadIdx.x; e < side * side; e += 64) partial[v * side * side + e] = 0;
    __syncthreads();
    for (int p = threadIdx.x; p < n * n; p += 64) {
        int i = p / n, j = p % n, dy = i / m - j / m, dx = i % m - j % m;
        atomicAdd(&partial[v * side * side + (dy + m - 1) * side + dx + m - 1], ds[v * n * n + p]);  // <-- here
    }
}
