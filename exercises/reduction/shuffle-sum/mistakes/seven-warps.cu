// wrong: not-counted
__global__ void block_sum(const float* data, float* out, int n) {
    __shared__ float warps[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i < n ? data[i] : 0.0f;  // <-- here
    for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffff, x, d);
    if (lane == 0) warps[warp] = x;
    __syncthreads();
    if (warp == 0) {
        x = lane < 7 ? warps[lane] : 0.0f;
        for (int d = 4; d > 0; d /= 2) x += __shfl_down_sync(0xffffffff, x, d);
        if (lane == 0) out[blockIdx.x] = x;
    }
}
