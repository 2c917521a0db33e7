// Fused multiply-adds in one or more independent chains per thread, in a loop that is rolled up or unrolled.

// --8<-- [start:chains]
// Applies r = a r + b `steps` times to CHAINS numbers of the thread's own.
template <int CHAINS, int UNROLL>
__device__ void run(const float* x, float* out, int steps, float a, float b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float r[CHAINS];
    for (int c = 0; c < CHAINS; ++c) r[c] = x[i * CHAINS + c];

#pragma unroll UNROLL
    for (int s = 0; s < steps; ++s)
        for (int c = 0; c < CHAINS; ++c) r[c] = fmaf(a, r[c], b);

    for (int c = 0; c < CHAINS; ++c) out[i * CHAINS + c] = r[c];
}
// --8<-- [end:chains]

#define KERNEL(NAME, CHAINS, UNROLL)                                                           \
    extern "C" __global__ void NAME(const float* x, float* out, int steps, float a, float b) { \
        run<CHAINS, UNROLL>(x, out, steps, a, b);                                              \
    }

// 32 FMAs per pass of the loop, in 1 to 16 chains
KERNEL(chains_1, 1, 32)
KERNEL(chains_2, 2, 16)
KERNEL(chains_4, 4, 8)
KERNEL(chains_8, 8, 4)
KERNEL(chains_16, 16, 2)
// 4 chains, 4 to 256 FMAs per pass
KERNEL(rolled, 4, 1)
KERNEL(unroll_2, 4, 2)
KERNEL(unroll_4, 4, 4)
KERNEL(unroll_8, 4, 8)
KERNEL(unroll_64, 4, 64)

// --8<-- [start:spill]
// 64 chains: in as many registers as the compiler likes, and in at most 40, so that six blocks fit on an SM
extern "C" __global__ void __launch_bounds__(256) wide(const float* x, float* out, int steps, float a, float b) {
    run<64, 1>(x, out, steps, a, b);
}
extern "C" __global__ void __launch_bounds__(256, 6) squeezed(const float* x, float* out, int steps, float a, float b) {
    run<64, 1>(x, out, steps, a, b);
}
// --8<-- [end:spill]

#ifdef LONG_UNROLL  // one more, for the sweep of chains.py
KERNEL(unroll_long, 4, LONG_UNROLL)
#endif

// --8<-- [start:latency]
// How many cycles from one FMA to the next that needs its result: one thread, 1024 in a row.
extern "C" __global__ void fma_latency(float* out, long long* cycles, float a, float b) {
    float r = out[0];
    long long start = clock64();
#pragma unroll
    for (int s = 0; s < 1024; ++s) r = fmaf(a, r, b);
    long long stop = clock64();
    out[0] = r;  // also keeps the compiler from leaving the chain out
    *cycles = stop - start;
}
// --8<-- [end:latency]
