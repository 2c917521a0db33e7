// where[b] is the index of the largest of block b's 256 elements of data; of equal ones, the first.
__global__ void where_largest(const int* data, int* where, int n) {
    // your code
    __shared__ int values[8], places[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = i < n ? data[i] : INT_MIN, at = i < n ? i : INT_MAX;
    for (int d = 16; d > 0; d /= 2) {
        int v2 = __shfl_down_sync(0xffffffff, v, d), at2 = __shfl_down_sync(0xffffffff, at, d);
        if (v2 > v || (v2 == v && at2 < at)) v = v2, at = at2;
    }
    if (lane == 0) values[warp] = v, places[warp] = at;
    __syncthreads();
    if (warp > 0) return;
    v = values[lane % 8], at = places[lane % 8];
    for (int d = 4; d > 0; d /= 2) {
        int v2 = __shfl_down_sync(0xffffffff, v, d), at2 = __shfl_down_sync(0xffffffff, at, d);
        if (v2 > v || (v2 == v && at2 < at)) v = v2, at = at2;
    }
    if (lane == 0) where[blockIdx.x] = at;
    // end of your code
}
