// wrong: out-of-bounds
__global__ void offsets(const int* counts, int* starts, int* sums, int n) {
    __shared__ int warps[8];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * 256 + t;
    int own = counts[i], x = own;  // <-- here
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(0xffffffff, x, d);
        if (lane >= d) x += left;
    }
    if (lane == 31) warps[warp] = x;
    __syncthreads();
    int before = 0;
    for (int w = 0; w < warp; w++) before += warps[w];
    if (i < n) starts[i] = before + x - own;
    if (t == 255) sums[blockIdx.x] = before + x;
}
