// wrong: zeros-kept, no line
__global__ void keep(const float* x, float* y, int* kept, int n) {
    __shared__ int warps[8];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * 256 + t;
    float own = i < n ? x[i] : -1;
    unsigned ups = __ballot_sync(0xffffffff, own >= 0);
    if (lane == 0) warps[warp] = __popc(ups);
    __syncthreads();
    int place = __popc(ups & ((1u << lane) - 1));
    for (int w = 0; w < warp; w++) place += warps[w];
    if (own >= 0) y[blockIdx.x * 256 + place] = own;
    if (t == 255) kept[blockIdx.x] = place + (own >= 0);
}
