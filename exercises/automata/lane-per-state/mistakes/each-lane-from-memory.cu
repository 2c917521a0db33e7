// slow: bytes
__global__ void states(const unsigned char* text, const int* step, int* to, int n) {
    int lane = threadIdx.x % 32, w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, first = 128 * w;
    if (first >= n) return;
    int state = lane;
    for (int i = first; i < min(n, first + 128); ++i) state = step[32 * text[i] + state];  // <-- here
    to[32 * w + lane] = state;
}
