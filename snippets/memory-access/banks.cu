// A warp's loads from shared memory, at addresses of the caller's choice: how long until all lanes have their word?
//
// The host gives each lane an index. Every warp of the block reads there, `rounds` times 16 loads, and adds up what it
// got. T is the word that a lane reads: 4, 8 or 16 bytes.

constexpr int BLOCK = 1024;  // threads: enough warps to keep the shared memory busy
constexpr int BYTES = 32768;

// --8<-- [start:load]
// ld.volatile, or the compiler loads once and adds many times.
__device__ unsigned load(unsigned at, unsigned) {
    unsigned x;
    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(x) : "r"(at));
    return x;
}

__device__ unsigned load(unsigned at, uint2) {
    uint2 p;
    asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(p.x), "=r"(p.y) : "r"(at));
    return p.x + p.y;
}

__device__ unsigned load(unsigned at, uint4) {
    uint4 p;
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(p.x), "=r"(p.y), "=r"(p.z), "=r"(p.w)
                 : "r"(at));
    return p.x + p.y + p.z + p.w;
}
// --8<-- [end:load]

// --8<-- [start:bank]
template <typename T>
__device__ void read_words(const unsigned* from, const int* index, unsigned* sums, int rounds) {
    __shared__ alignas(16) unsigned tile[BYTES / 4];
    for (int i = threadIdx.x; i < BYTES / 4; i += BLOCK) tile[i] = from[i];
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(tile) + sizeof(T) * index[threadIdx.x % 32];
    unsigned sum = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < 16; ++k) sum += load(at, T{});
    }
    sums[blockIdx.x * BLOCK + threadIdx.x] = sum;
}
// --8<-- [end:bank]

extern "C" {
__global__ void read_4(const unsigned* from, const int* index, unsigned* sums, int rounds) {
    read_words<unsigned>(from, index, sums, rounds);
}
__global__ void read_8(const unsigned* from, const int* index, unsigned* sums, int rounds) {
    read_words<uint2>(from, index, sums, rounds);
}
__global__ void read_16(const unsigned* from, const int* index, unsigned* sums, int rounds) {
    read_words<uint4>(from, index, sums, rounds);
}
}
