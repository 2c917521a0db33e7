// slow: bytes
// In which erosion by 3 x 3 a pixel disappears: 1, 2, ...; 0 where mask is 0. One block of 32 x 32 threads; h, w <= 32.
__global__ void peel(const unsigned char* mask, int* round, int h, int w) {
    int x = threadIdx.x, y = threadIdx.y;
    if (x >= w || y >= h) return;
    int r = 0;
    for (bool full = mask[y * w + x]; full; ++r)  // <-- here
        for (int v = y - r - 1; v <= y + r + 1; ++v)
            for (int u = x - r - 1; u <= x + r + 1; ++u)
                full = full && 0 <= u && u < w && 0 <= v && v < h && mask[v * w + u];  // <-- here
    round[y * w + x] = r;
}
