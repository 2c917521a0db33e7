// wrong: one-start, no line
__global__ void states(const unsigned char* text, const int* step, int* to, int n) {
    int lane = threadIdx.x % 32, w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, first = 128 * w;
    if (first >= n) return;  // the whole warp
    int zero = step[lane], one = step[32 + lane], state = 0;
    for (int from = first; from < min(n, first + 128); from += 32) {
        unsigned ones = __ballot_sync(0xffffffff, from + lane < n && text[from + lane] == 1);
        for (int i = 0; i < min(32, n - from); ++i) state = __shfl_sync(0xffffffff, ones >> i & 1 ? one : zero, state);
    }
    to[32 * w + lane] = state;
}
