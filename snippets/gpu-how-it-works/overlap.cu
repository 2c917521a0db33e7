// --8<-- [start:chain]
// Every thread computes x <- a x + c, `steps` times; each step needs the one before. The first lane of each warp
// reads the clock before and after.
extern "C" __global__ void chain(const float* from, float* to, float a, float c, int steps, long long* clocks) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = from[i];
    __syncthreads();
    long long start = clock64();
#pragma unroll 32
    for (int k = 0; k < steps; ++k) x = a * x + c;
    *(volatile float*)(to + i) = x;  // needs the last step, so the clock below waits for it
    long long stop = clock64();
    if (threadIdx.x % 32 == 0) clocks[i / 32 * 2] = start, clocks[i / 32 * 2 + 1] = stop;
}
// --8<-- [end:chain]
