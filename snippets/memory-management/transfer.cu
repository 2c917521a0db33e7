// Two kernels for the programs that copy: one shows that the device saw the data, one keeps a stream busy.

// --8<-- [start:invert]
extern "C" __global__ void invert(unsigned* data, long long n) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) data[i] = ~data[i];
}
// --8<-- [end:invert]

// --8<-- [start:busy]
// One thread that lets `nanoseconds` pass, then leaves a mark.
extern "C" __global__ void busy(unsigned long long nanoseconds, unsigned* out, unsigned mark) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
    *out = mark;
}
// --8<-- [end:busy]
