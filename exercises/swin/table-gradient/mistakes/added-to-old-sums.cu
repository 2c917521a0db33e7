// wrong: stale
__global__ void gather(const float* ds, float* partial, int m) {
    int n = m * m, side = 2 * m - 1, v = blockIdx.x;
    for (int e = threadIdx.x; e < side * side; e += 64) {
        int dy = e / side - (m - 1), dx = e % side - (m - 1);
        float sum = 0;
        for (int y = max(0, dy); y < min(m, m + dy); ++y)
            for (int x = max(0, dx); x < min(m, m + dx); ++x)
                sum += ds[(v * n + y * m + x) * n + (y - dy) * m + x - dx];
        partial[v * side * side + e] += sum;  // <-- here
    }
}
