// wrong: inactive-lane
__global__ void keep(const float* x, float* y, int* kept, int n) {
    __shared__ int warps[8];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * 256 + t;
    if (i >= n) return;
    float own = x[i];
    unsigned ups = __ballot_sync(0xffffffff, own > 0);  // <-- here
    if (lane == 0) warps[warp] = __popc(ups);
    __syncthreads();
    int place = __popc(ups & ((1u << lane) - 1));
    for (int w = 0; w < warp; w++) place += warps[w];
    if (own > 0) y[blockIdx.x * 256 + place] = own;
    if (t == 255) kept[blockIdx.x] = place + (own > 0);
}
