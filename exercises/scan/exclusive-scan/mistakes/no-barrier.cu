// wrong: race
__global__ void offsets(const int* counts, int* starts, int* sums, int n) {
    __shared__ int warps[8];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * 256 + t;
    int own = i < n ? counts[i] : 0, x = own;
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(0xffffffff, x, d);
        if (lane >= d) x += left;
    }
    if (lane == 31) warps[warp] = x;  // <-- here
    int before = 0;
    for (int w = 0; w < warp; w++) before += warps[w];  // <-- here
    if (i < n) starts[i] = before + x - own;
    if (t == 255) sums[blockIdx.x] = before + x;
}
