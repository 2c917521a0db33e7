// wrong: out-of-bounds
__global__ void gather(const float* ds, float* partial, int m) {
    int n = m * m, side = 2 * m - 1, v = blockIdx.x;
    for (int e = threadIdx.x; e < side * side; e += 64) {
        int dy = e / side - (m - 1), dx = e % side - (m - 1);
        float sum = 0;
        for (int y = 0; y < m; ++y)
            for (int x = 0; x < m; ++x) sum += ds[(v * n + y * m + x) * n + (y - dy) * m + x - dx];  // <-- here
        partial[v * side * side + e] = sum;
    }
}
