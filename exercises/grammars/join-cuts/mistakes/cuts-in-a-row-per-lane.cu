// slow: bytes-strided
__global__ void join(const int* both, const int* left, const int* right, int* sets, int n, int cuts) {
    int lane = threadIdx.x % 32, cell = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (cell >= n) return;  // the whole warp
    int set = 0;
    int each = (cuts + 31) / 32;
    for (int k = lane * each; k < min(cuts, (lane + 1) * each); ++k)
        set |= both[left[cell * cuts + k] << 8 | right[cell * cuts + k]];  // <-- here
    set = __reduce_or_sync(0xffffffff, set);
    if (lane == 0) sets[cell] = set;
}
