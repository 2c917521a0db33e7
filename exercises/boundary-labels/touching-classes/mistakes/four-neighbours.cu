// wrong: no-diagonals, no line
// edge = the label where one of the 8 neighbours has another class, else 255; void (255) and the frame do not count.
__global__ void edges(const unsigned char* labels, unsigned char* edge, int h, int w) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= w || y >= h) return;
    int own = labels[y * w + x], found = 255;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            int u = x + dx, v = y + dy;
            if (u < 0 || u >= w || v < 0 || v >= h) continue;
            int other = labels[v * w + u];
            if (dx * dy == 0 && other != own && other != 255) found = own;
        }
    edge[y * w + x] = found;
}
