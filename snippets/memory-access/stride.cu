// What a warp's addresses cost: every stride-th word of an array, and words that do not begin at a boundary.
// Words are 32-bit integers; sums wrap around, so they are exact in any order.
using Index = long long;

constexpr int UNROLL = 8;  // independent loads of a thread, so that enough bytes are in flight

// --8<-- [start:stride]
// The sum of data[k * stride] for all k < count, in pieces: one a thread.
extern "C" __global__ void stride_read(const unsigned* data, unsigned* sums, Index count, Index stride) {
    Index thread = (Index)blockIdx.x * blockDim.x + threadIdx.x, threads = (Index)gridDim.x * blockDim.x;
    unsigned sum = 0;
    Index k = thread;
    for (; k + (UNROLL - 1) * threads < count; k += UNROLL * threads) {
        unsigned word[UNROLL];
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) word[j] = data[(k + j * threads) * stride];
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) sum += word[j];
    }
    for (; k < count; k += threads) sum += data[k * stride];
    sums[thread] = sum;
}
// --8<-- [end:stride]

// --8<-- [start:packs]
// The same at stride 1, with loads of 16 bytes.
extern "C" __global__ void pack_read(const uint4* data, unsigned* sums, Index count) {
    Index thread = (Index)blockIdx.x * blockDim.x + threadIdx.x, threads = (Index)gridDim.x * blockDim.x;
    unsigned sum = 0;
    Index k = thread;
    for (; k + (UNROLL / 2 - 1) * threads < count; k += UNROLL / 2 * threads) {
        uint4 p[UNROLL / 2];
#pragma unroll
        for (int j = 0; j < UNROLL / 2; ++j) p[j] = data[k + j * threads];
#pragma unroll
        for (int j = 0; j < UNROLL / 2; ++j) sum += p[j].x + p[j].y + p[j].z + p[j].w;
    }
    for (; k < count; k += threads) sum += data[k].x + data[k].y + data[k].z + data[k].w;
    sums[thread] = sum;
}
// --8<-- [end:packs]
