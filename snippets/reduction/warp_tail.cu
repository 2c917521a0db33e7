// The last warp of a tree in shared memory, as decks wrote it before Volta, and as it must be written since.
constexpr int BLOCK = 64;  // one tile of 64 numbers per block, one warp of threads left to add it up
extern "C" {

// --8<-- [start:wrong]
// WRONG since Volta: nothing orders the lanes' reads and writes. volatile only keeps the compiler
// from holding values in registers; it does not make a lane wait for another.
__global__ void tail_volatile(const int* in, int* out) {
    __shared__ int tile[BLOCK];
    tile[threadIdx.x] = in[blockIdx.x * BLOCK + threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) {
        volatile int* v = tile;
        int t = threadIdx.x;
        v[t] += v[t + 32];
        v[t] += v[t + 16];
        v[t] += v[t + 8];
        v[t] += v[t + 4];
        v[t] += v[t + 2];
        v[t] += v[t + 1];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = tile[0];
}
// --8<-- [end:wrong]

// --8<-- [start:right]
// Right: in each step all lanes read, then all write, and __syncwarp() stands between.
__global__ void tail_syncwarp(const int* in, int* out) {
    __shared__ int tile[BLOCK];
    tile[threadIdx.x] = in[blockIdx.x * BLOCK + threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) {
        int t = threadIdx.x;
        int x = tile[t];
        for (int s = 32; s > 0; s /= 2) {
            x += tile[t + s];
            __syncwarp();  // all have read
            tile[t] = x;
            __syncwarp();  // all have written
        }
    }
    if (threadIdx.x == 0) out[blockIdx.x] = tile[0];
}
// --8<-- [end:right]

}  // extern "C"
