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

// --8<-- [start:lean]
// The same chain with fewer registers to read in each step: x <- a x + x.
extern "C" __global__ void lean(const float* from, float* to, float a, int steps, long long* clocks) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = from[i];
    __syncthreads();
    long long start = clock64();
#pragma unroll 32
    for (int k = 0; k < steps; ++k) x = a * x + x;
    *(volatile float*)(to + i) = x;
    long long stop = clock64();
    if (threadIdx.x % 32 == 0) clocks[i / 32 * 2] = start, clocks[i / 32 * 2 + 1] = stop;
}
// --8<-- [end:lean]

// --8<-- [start:errands]
// Each warp, `rounds` times: a load from far away, then a chain of multiply-adds on what it brought. It notes the
// clock before the load, after it and after the chain; storing a value waits for it, so the clock is read after that.
extern "C" __global__ void errands(const unsigned* next, const unsigned* starts, float a, float c, int rounds,
                                   int steps, unsigned* visited, float* ends, long long* clocks) {
    __shared__ volatile unsigned seen[32];
    __shared__ volatile float worked[32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned at = starts[warp];
    __syncthreads();
    for (int r = 0; r < rounds; ++r) {
        long long before = clock64();
        at = next[32ull * at];  // all lanes the same word, 128 bytes or more from the last one
        if (lane == 0) seen[warp] = at;
        long long between = clock64();
        float x = at % 1024 / 1024.0f;
#pragma unroll 32
        for (int k = 0; k < steps; ++k) x = a * x + c;
        if (lane == 0) worked[warp] = x;
        long long after = clock64();
        if (lane == 0) {
            int i = warp * rounds + r;
            visited[i] = seen[warp], ends[i] = worked[warp];
            clocks[3 * i] = before, clocks[3 * i + 1] = between, clocks[3 * i + 2] = after;
        }
    }
}
// --8<-- [end:errands]
