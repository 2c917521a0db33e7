// wrong: wrapped
__global__ void add_up(const unsigned* data, unsigned long long* total, int n) {
    __shared__ unsigned long long warps[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned x = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x += data[i];  // <-- here
    for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffff, x, d);
    if (lane == 0) warps[warp] = x;
    __syncthreads();
    if (warp == 0) {
        x = lane < 8 ? warps[lane] : 0;
        for (int d = 4; d > 0; d /= 2) x += __shfl_down_sync(0xffffffff, x, d);
        if (lane == 0) atomicAdd(total, x);
    }
}
