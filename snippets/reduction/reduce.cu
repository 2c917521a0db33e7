// Sum n numbers. Nine kernels from plain to fast; each changes one thing of the one before.
//
//   v0…v2  work in place in global memory (they overwrite their input)
//   v3…v5  one tile of the input per block, in shared memory, then in registers
//   v6…v7  a fixed grid that strides over the input
//   v8     the same, finished inside the one launch
//
// v0…v7 write one partial sum per block; the caller launches the kernel again on those until one is left.
// Compile with -DELEMENT=int for integers. Blocks have BLOCK threads, v7 and v8 any multiple of 32.

#ifndef ELEMENT
#define ELEMENT float
#endif
using T = ELEMENT;
using Index = long long;

constexpr int BLOCK = 256;  // known at compile time: loops over it unroll, % becomes &

// --8<-- [start:wide]
struct alignas(16) Pack {
    T item[4];
};

// This thread's share of the input: UNROLL independent 16-byte loads before the first addition.
// data must be 16-byte aligned; cuMemAlloc gives 256.
template <int UNROLL>
__device__ T wide_sum(const T* data, Index n) {
    const Pack* packs = reinterpret_cast<const Pack*>(data);
    Index count = n / 4;
    Index i = (Index)blockIdx.x * blockDim.x * UNROLL + threadIdx.x;
    Index step = (Index)gridDim.x * blockDim.x * UNROLL;
    T sum[4] = {0, 0, 0, 0};  // four chains of additions, not one

    for (; i + (UNROLL - 1) * blockDim.x < count; i += step) {
        Pack p[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) p[k] = packs[i + k * blockDim.x];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
            for (int j = 0; j < 4; ++j) sum[j] += p[k].item[j];
    }
    for (int k = 0; k < UNROLL && i < count; ++k, i += blockDim.x)  // the last tile, cut short
        for (int j = 0; j < 4; ++j) sum[j] += packs[i].item[j];

    Index rest = 4 * count + threadIdx.x;  // n % 4 elements
    if (blockIdx.x == 0 && rest < n) sum[0] += data[rest];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
// --8<-- [end:wide]

extern "C" {

// --8<-- [start:v0]
// Neighbours pair up: thread t works when t is a multiple of 2s.
__global__ void reduce_v0(T* data, T* out, Index n) {
    Index start = (Index)blockIdx.x * BLOCK;
    T* tile = data + start;
    int t = threadIdx.x;
    for (int s = 1; s < BLOCK; s *= 2) {
        if (t % (2 * s) == 0 && start + t + s < n) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}
// --8<-- [end:v0]

// --8<-- [start:v1]
// The same pairs, taken by the first threads: whole warps work or rest.
__global__ void reduce_v1(T* data, T* out, Index n) {
    Index start = (Index)blockIdx.x * BLOCK;
    T* tile = data + start;
    for (int s = 1; s < BLOCK; s *= 2) {
        int i = 2 * s * threadIdx.x;
        if (i < BLOCK && start + i + s < n) tile[i] += tile[i + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = tile[0];
}
// --8<-- [end:v1]

// --8<-- [start:v2]
// Other pairs: element t with t + s, so that neighbouring threads touch neighbouring words.
__global__ void reduce_v2(T* data, T* out, Index n) {
    Index start = (Index)blockIdx.x * BLOCK;
    T* tile = data + start;
    int t = threadIdx.x;
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (t < s && start + t + s < n) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}
// --8<-- [end:v2]

// --8<-- [start:v3]
// The tile moves to shared memory: global memory is read once and not written.
__global__ void reduce_v3(const T* data, T* out, Index n) {
    __shared__ T tile[BLOCK];
    int t = threadIdx.x;
    Index i = (Index)blockIdx.x * BLOCK + t;
    tile[t] = i < n ? data[i] : T(0);
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}
// --8<-- [end:v3]

// --8<-- [start:v4]
// Two elements per thread, added on the way in: half as many blocks, trees and barriers.
__global__ void reduce_v4(const T* data, T* out, Index n) {
    __shared__ T tile[BLOCK];
    int t = threadIdx.x;
    Index i = (Index)blockIdx.x * (2 * BLOCK) + t;
    T a = i < n ? data[i] : T(0);
    T b = i + BLOCK < n ? data[i + BLOCK] : T(0);
    tile[t] = a + b;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}
// --8<-- [end:v4]

// --8<-- [start:block_sum]
// The sum over a warp, in lane 0. All 32 lanes must call it.
__device__ T warp_sum(T x) {
    for (int s = 16; s > 0; s /= 2) x += __shfl_down_sync(0xffffffff, x, s);
    return x;
}

// The sum over a block of up to 32 whole warps, in thread 0. All threads must call it.
__device__ T block_sum(T x) {
    __shared__ T warps[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    x = warp_sum(x);
    if (lane == 0) warps[warp] = x;
    __syncthreads();
    if (warp == 0) x = warp_sum(lane < blockDim.x / 32 ? warps[lane] : T(0));
    return x;
}
// --8<-- [end:block_sum]

// --8<-- [start:v5]
// v4 with the tree in registers: one barrier instead of nine.
__global__ void reduce_v5(const T* data, T* out, Index n) {
    Index i = (Index)blockIdx.x * (2 * BLOCK) + threadIdx.x;
    T a = i < n ? data[i] : T(0);
    T b = i + BLOCK < n ? data[i + BLOCK] : T(0);
    T x = block_sum(a + b);
    if (threadIdx.x == 0) out[blockIdx.x] = x;
}
// --8<-- [end:v5]

// --8<-- [start:v6]
// The grid has the size of the device, not of the data. A thread adds up its stride; one tree per block.
__global__ void reduce_v6(const T* data, T* out, Index n) {
    Index step = (Index)gridDim.x * BLOCK;
    T x = 0;
    for (Index i = (Index)blockIdx.x * BLOCK + threadIdx.x; i < n; i += step) x += data[i];
    x = block_sum(x);
    if (threadIdx.x == 0) out[blockIdx.x] = x;
}
// --8<-- [end:v6]

// --8<-- [start:v7]
// v6 with wide loads, several of them in flight.
__global__ void reduce_v7(const T* data, T* out, Index n) {
    T x = block_sum(wide_sum<4>(data, n));
    if (threadIdx.x == 0) out[blockIdx.x] = x;
}
// --8<-- [end:v7]

// --8<-- [start:v8]
// v7, finished by the block that arrives last. partial has gridDim.x elements; arrived is 0 before the
// first launch, and again after each. The order of additions depends on the grid alone.
__global__ void reduce_v8(const T* data, T* partial, unsigned* arrived, T* out, Index n) {
    __shared__ bool last;
    T x = block_sum(wide_sum<4>(data, n));
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = x;
        __threadfence();  // the partial is visible before the ticket is
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();  // the tickets of the others come before their partials are read
    }
    __syncthreads();
    if (!last) return;  // the whole block agrees, so no barrier below is missed

    x = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) x += partial[i];
    x = block_sum(x);
    if (threadIdx.x == 0) *out = x;
}
// --8<-- [end:v8]

// --8<-- [start:atomic]
// v7, finished by one atomic per block, in the order in which the blocks happen to end. *out must be 0.
__global__ void reduce_atomic(const T* data, T* out, Index n) {
    T x = block_sum(wide_sum<4>(data, n));
    if (threadIdx.x == 0) atomicAdd(out, x);
}
// --8<-- [end:atomic]

// The yardstick: reads and writes every byte once. n must be a multiple of 4; launch one thread for 16 elements.
__global__ void copy(const T* from, T* to, Index n) {
    Index i = (Index)blockIdx.x * (4 * BLOCK) + threadIdx.x;
    Pack p[4];
    for (int k = 0; k < 4; ++k)
        if (i + k * BLOCK < n / 4) p[k] = reinterpret_cast<const Pack*>(from)[i + k * BLOCK];
    for (int k = 0; k < 4; ++k)
        if (i + k * BLOCK < n / 4) reinterpret_cast<Pack*>(to)[i + k * BLOCK] = p[k];
}

}  // extern "C"
