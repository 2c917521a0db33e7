// Where and when blocks run: each block notes its SM and the time, keeps it busy, notes the time again.
using Time = unsigned long long;

__device__ unsigned sm_id() {
    unsigned id;
    asm volatile("mov.u32 %0, %smid;" : "=r"(id));
    return id;
}

__device__ Time now() {  // nanoseconds, one clock for the whole device
    Time t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

extern "C" {

// --8<-- [start:log]
// Block i keeps its warps busy for cycles[i] clocks of its SM.
__global__ void log_blocks(const unsigned* cycles, unsigned* sm, Time* start, Time* stop) {
    if (threadIdx.x == 0) {
        sm[blockIdx.x] = sm_id();
        start[blockIdx.x] = now();
    }
    long long busy = cycles[blockIdx.x], from = clock64();
    while (clock64() - from < busy);
    __syncthreads();
    if (threadIdx.x == 0) stop[blockIdx.x] = now();
}
// --8<-- [end:log]

}  // extern "C"
