// A walk through memory in which every address is the result of the load before it: nothing can overlap.
// A node is a line of 128 bytes; its first eight bytes are the address of the next node.

#define STRIDE 128

typedef unsigned long long Address;

// --8<-- [start:load]
__device__ Address follow(Address at) {
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(at) : "l"(at) : "memory");
    return at;
}
// --8<-- [end:load]

__device__ unsigned index_of(Address at, Address base) { return (unsigned)((at - base) / STRIDE); }

__device__ Address nanoseconds() {
    Address now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

extern "C" {

// Make a chain of the nodes at `base`: after node i comes node next[i].
__global__ void link(Address base, const unsigned* next, unsigned nodes) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nodes) *(Address*)(base + (Address)i * STRIDE) = base + (Address)next[i] * STRIDE;
}

// Each block follows a part of the chain and says where it has been: block b from node starts[b] on, hops[b] times.
__global__ void walk(Address base, const unsigned* starts, const unsigned* hops, const unsigned* offsets,
                     unsigned* visited) {
    Address at = base + (Address)starts[blockIdx.x] * STRIDE;
    for (unsigned i = 0; i < hops[blockIdx.x]; ++i) {
        at = follow(at);
        visited[offsets[blockIdx.x] + i] = index_of(at, base);
    }
}

// --8<-- [start:chase]
// One thread: `warm` hops that do not count, then `hops` that do.
// told: where it ended, cycles of the SM's clock, nanoseconds.
__global__ void chase(Address base, unsigned start, unsigned warm, unsigned hops, volatile Address* told) {
    Address at = base + (Address)start * STRIDE;
    for (unsigned i = 0; i < warm; ++i) at = follow(at);
    Address from = nanoseconds();
    long long cycles = clock64();
#pragma unroll 8
    for (unsigned i = 0; i < hops; ++i) at = follow(at);
    told[0] = index_of(at, base);  // waits for the last load
    cycles = clock64() - cycles;
    told[1] = cycles;
    told[2] = nanoseconds() - from;
}
// --8<-- [end:chase]

// --8<-- [start:each]
// Up to 1024 hops, and the clock after each. Storing the address waits for the load, and the clock is read after that.
__global__ void each(Address base, unsigned start, unsigned warm, unsigned hops, unsigned* visited, unsigned* cycles) {
    __shared__ volatile unsigned seen[1024], took[1024];
    Address at = base + (Address)start * STRIDE;
    for (unsigned i = 0; i < warm; ++i) at = follow(at);
    long long before = clock64();
#pragma unroll 1
    for (unsigned i = 0; i < hops; ++i) {
        at = follow(at);
        seen[i] = index_of(at, base);
        long long now = clock64();
        took[i] = (unsigned)(now - before);
        before = now;
    }
    for (unsigned i = 0; i < hops; ++i) visited[i] = seen[i], cycles[i] = took[i];
}
// --8<-- [end:each]

}  // extern "C"
