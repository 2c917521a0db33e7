// wrong: inactive-lane
__global__ void join(const int* both, const int* left, const int* right, int* sets, int n, int cuts) {
    int lane = threadIdx.x % 32, cell = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (cell >= n) return;  // the whole warp
    if (lane >= cuts) return;
    int set = 0;
    for (int k = lane; k < cuts; k += 32) set |= both[left[cell * cuts + k] << 8 | right[cell * cuts + k]];
    set = __reduce_or_sync(0xffffffff, set);  // <-- here
    if (lane == 0) sets[cell] = set;
}
