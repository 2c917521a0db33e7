// slow: uncoalesced
// edge = the label where one of the 8 neighbours has another class, else 255; void (255) and the frame do not count.
__global__ void edges(const unsigned char* labels, unsigned char* edge, int h, int w) {
    int x = blockIdx.x * 32 + threadIdx.y * 4 + threadIdx.x / 8, y = blockIdx.y * 8 + threadIdx.x % 8;
    if (x >= w || y >= h) return;
    int own = labels[y * w + x], found = 255;  // <-- here
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            int u = x + dx, v = y + dy;
            if (u < 0 || u >= w || v < 0 || v >= h) continue;
            int other = labels[v * w + u];  // <-- here
            if (other != own && other != 255) found = own;
        }
    edge[y * w + x] = found;  // <-- here
}
