// slow: atomics
__global__ void add_up(const unsigned* data, unsigned long long* total, int n) {
    unsigned long long x = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x += data[i];
    atomicAdd(total, x);  // <-- here
}
