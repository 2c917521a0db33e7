// wrong: out-of-bounds
// In which erosion by 3 x 3 a pixel disappears: 1, 2, ...; 0 where mask is 0. One block of 32 x 32 threads; h, w <= 32.
__global__ void peel(const unsigned char* mask, int* round, int h, int w) {
    __shared__ unsigned char alive[34][34];
    int x = threadIdx.x, y = threadIdx.y;
    bool inside = x < w && y < h;
    for (int i = y * 32 + x; i < 34 * 34; i += 1024) (&alive[0][0])[i] = 0;
    __syncthreads();
    bool now = inside && mask[y * w + x];
    int last = now;
    alive[y + 1][x + 1] = now;
    for (int r = 1; __syncthreads_or(now); ++r) {
        bool next = now;
        for (int dy = 0; dy < 3; ++dy)
            for (int dx = 0; dx < 3; ++dx) next = next && alive[y + dy][x + dx];
        __syncthreads();
        alive[y + 1][x + 1] = next;
        if (now) last = r;
        now = next;
    }
    round[y * w + x] = last;  // <-- here
}
