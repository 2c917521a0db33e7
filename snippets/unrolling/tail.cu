// The last warp of a tree in shared memory, unrolled: as tutorials wrote it before Volta, and in two ways that are right.
constexpr int BLOCK = 64;
extern "C" {

// --8<-- [start:volatile]
// WRONG since Volta: nothing makes a lane wait until the others have read or written.
__global__ void tail_volatile(const int* in, int* out) {
    __shared__ int tile[BLOCK];
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * BLOCK + t];
    __syncthreads();
    if (t < 32) {
        volatile int* v = tile;
        v[t] += v[t + 32];
        v[t] += v[t + 16];
        v[t] += v[t + 8];
        v[t] += v[t + 4];
        v[t] += v[t + 2];
        v[t] += v[t + 1];
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}
// --8<-- [end:volatile]

// --8<-- [start:right]
__global__ void tail_syncwarp(const int* in, int* out) {
    __shared__ int tile[BLOCK];
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * BLOCK + t];
    __syncthreads();
    if (t < 32) {
        int x = tile[t];
#pragma unroll
        for (int s = 32; s > 0; s /= 2) {
            x += tile[t + s];
            __syncwarp();  // all have read
            tile[t] = x;
            __syncwarp();  // all have written
        }
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}

__global__ void tail_shuffle(const int* in, int* out) {
    __shared__ int tile[BLOCK];
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * BLOCK + t];
    __syncthreads();
    if (t >= 32) return;
    int x = tile[t] + tile[t + 32];
#pragma unroll
    for (int s = 16; s > 0; s /= 2) x += __shfl_down_sync(0xffffffff, x, s);
    if (t == 0) out[blockIdx.x] = x;
}
// --8<-- [end:right]

}  // extern "C"
