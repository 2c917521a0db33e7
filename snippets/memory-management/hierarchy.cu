// One kernel, or a pair, for each place inside the GPU where data can lie.

#define ITEMS 32  // words that a thread keeps for itself

// --- Registers and local memory --------------------------------------------------------------------------------------

// --8<-- [start:registers]
// Every index is known when the loop is unrolled, so v is 32 registers.
extern "C" __global__ void in_registers(const unsigned* data, unsigned* out, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    unsigned v[ITEMS], sum = 0;
    for (int k = 0; k < ITEMS; ++k) v[k] = data[k * n + i];
    for (int r = 0; r < rounds; ++r)
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) sum = sum * 3 + v[k];
    out[i] = sum;
}
// --8<-- [end:registers]

// --8<-- [start:local]
// The index depends on an argument, and registers have no index: v moves to local memory.
extern "C" __global__ void in_local(const unsigned* data, unsigned* out, int rounds, int turn) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    unsigned v[ITEMS], sum = 0;
    for (int k = 0; k < ITEMS; ++k) v[k] = data[k * n + i];
    for (int r = 0; r < rounds; ++r)
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) sum = sum * 3 + v[(k + r * turn) & (ITEMS - 1)];
    out[i] = sum;
}
// --8<-- [end:local]

// --- Shared memory ---------------------------------------------------------------------------------------------------

// --8<-- [start:shared]
// Reverses the whole array through shared memory; one block, as many words as its shared memory holds.
extern "C" __global__ void reverse(unsigned* data, int n) {
    extern __shared__ unsigned tile[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = data[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = tile[n - 1 - i];
}
// --8<-- [end:shared]

// --- L1 and L2 -------------------------------------------------------------------------------------------------------

// --8<-- [start:reread]
// A block reads its own 32 KiB again and again. The L1 keeps what is loaded with __ldca, and not with __ldcg.
template <bool KEEP>
__device__ void reread(const uint4* data, unsigned* out, int rounds) {
    const int packs = 2048;
    const uint4* tile = data + blockIdx.x * packs;
    unsigned sum = 0;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int k = 0; k < packs; k += 512) {
            const uint4* pack = tile + (threadIdx.x + k + 32 * r) % packs;  // another warp's part in every round
            uint4 v = KEEP ? __ldca(pack) : __ldcg(pack);
            sum += v.x ^ v.y ^ v.z ^ v.w;
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void reread_l1(const uint4* data, unsigned* out, int rounds) { reread<true>(data, out, rounds); }
extern "C" __global__ void reread_l2(const uint4* data, unsigned* out, int rounds) { reread<false>(data, out, rounds); }
// --8<-- [end:reread]

// --- Constant memory -------------------------------------------------------------------------------------------------

// --8<-- [start:constant]
__constant__ unsigned table[64];

// The lanes of a warp read `spread` different words of the table at a time.
extern "C" __global__ void look_up(unsigned* out, int rounds, int spread) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0, lane = threadIdx.x % spread;
#pragma unroll 8
    for (int r = 0; r < rounds; ++r) sum = sum * 3 + table[lane + (r & 31)];
    out[i] = sum;
}

// The same table in global memory, where 32 words side by side are one line.
extern "C" __global__ void look_up_global(const unsigned* table, unsigned* out, int rounds, int spread) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0, lane = threadIdx.x % spread;
#pragma unroll 8
    for (int r = 0; r < rounds; ++r) sum = sum * 3 + table[lane + (r & 31)];
    out[i] = sum;
}
// --8<-- [end:constant]
