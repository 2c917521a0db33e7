// slow: barriers
__global__ void join(const int* both, const int* left, const int* right, int* sets, int n, int cuts) {
    int lane = threadIdx.x % 32, cell = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    __shared__ int united[8];
    if (lane == 0) united[threadIdx.x / 32] = 0;
    __syncwarp();  // <-- here
    if (cell >= n) return;
    for (int k = lane; k < cuts; k += 32)
        atomicOr(&united[threadIdx.x / 32], both[left[cell * cuts + k] << 8 | right[cell * cuts + k]]);
    __syncwarp();  // <-- here
    if (lane == 0) sets[cell] = united[threadIdx.x / 32];
}
