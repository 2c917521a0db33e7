// Histograms of 256 bins. Seven kernels from plain to fast; each changes one thing of the one before. Two more for skewed
// data.
//
//   v0      one addition to global memory per element
//   v1…v2   each block counts in shared memory: one element per thread, then a fixed grid that strides over the input
//   v3      loads of 16 bytes
//   v4…v5   a copy of the bins per warp, then per lane
//   v6      four loads before the first addition, and larger blocks
//
// `out` holds ROWS counts of 32 bits, zero before the launch; the last one is of elements in no bin. x is 16-byte aligned,
// and n is below 2^31. Compile with -DELEMENT="unsigned char" for bytes. Blocks have BLOCK threads, those of v6 1024.

#ifndef ELEMENT
#define ELEMENT float
#endif
using T = ELEMENT;

constexpr int BINS = 256, ROWS = BINS + 1, BLOCK = 512, WARPS = BLOCK / 32;

// --8<-- [start:bin]
// Bins of equal width over [0, 1]; 1 itself is in the last. NaN fails both comparisons.
__device__ int bin_of(float x) { return x >= 0.0f && x <= 1.0f ? min(int(x * BINS), BINS - 1) : BINS; }

// A bin per value.
__device__ int bin_of(unsigned char x) { return x; }
// --8<-- [end:bin]

// --8<-- [start:block]
// The threads of a block set its counts to zero, before any of them counts.
__device__ void clear(unsigned* counts, int size) {
    for (int k = threadIdx.x; k < size; k += BLOCK) counts[k] = 0;
    __syncthreads();
}

// They add them to those of all blocks, after all of them have counted.
__device__ void merge(const unsigned* counts, unsigned* out) {
    __syncthreads();
    for (int bin = threadIdx.x; bin < ROWS; bin += BLOCK) atomicAdd(&out[bin], counts[bin]);
}
// --8<-- [end:block]

// --8<-- [start:packs]
struct alignas(16) Pack {
    T item[16 / sizeof(T)];
};

// Calls count(bin) for this thread's share of x.
template <class Count>
__device__ void for_each_bin(const T* x, unsigned n, Count count) {
    constexpr int EACH = 16 / sizeof(T);
    const Pack* packs = reinterpret_cast<const Pack*>(x);
    unsigned first = blockIdx.x * BLOCK + threadIdx.x;
    for (unsigned i = first; i < n / EACH; i += gridDim.x * BLOCK) {
        Pack pack = packs[i];
        for (int k = 0; k < EACH; ++k) count(bin_of(pack.item[k]));
    }
    unsigned rest = n / EACH * EACH + first;  // fewer than EACH elements are left
    if (rest < n) count(bin_of(x[rest]));
}
// --8<-- [end:packs]

extern "C" {

// --8<-- [start:v0]
__global__ void hist_v0(const T* x, unsigned* out, unsigned n) {
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) atomicAdd(&out[bin_of(x[i])], 1);
}
// --8<-- [end:v0]

// --8<-- [start:v1]
__global__ void hist_v1(const T* x, unsigned* out, unsigned n) {
    __shared__ unsigned counts[ROWS];
    clear(counts, ROWS);
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) atomicAdd(&counts[bin_of(x[i])], 1);
    merge(counts, out);
}
// --8<-- [end:v1]

// --8<-- [start:v2]
__global__ void hist_v2(const T* x, unsigned* out, unsigned n) {
    __shared__ unsigned counts[ROWS];
    clear(counts, ROWS);
    for (unsigned i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        atomicAdd(&counts[bin_of(x[i])], 1);
    merge(counts, out);
}
// --8<-- [end:v2]

// --8<-- [start:v3]
__global__ void hist_v3(const T* x, unsigned* out, unsigned n) {
    __shared__ unsigned counts[ROWS];
    clear(counts, ROWS);
    for_each_bin(x, n, [&](int bin) { atomicAdd(&counts[bin], 1); });
    merge(counts, out);
}
// --8<-- [end:v3]

// --8<-- [start:v4]
__global__ void hist_v4(const T* x, unsigned* out, unsigned n) {
    __shared__ unsigned counts[WARPS][ROWS];
    clear(counts[0], WARPS * ROWS);
    unsigned* own = counts[threadIdx.x / 32];
    for_each_bin(x, n, [&](int bin) { atomicAdd(&own[bin], 1); });
    __syncthreads();
    for (int bin = threadIdx.x; bin < ROWS; bin += BLOCK)
        for (int warp = 1; warp < WARPS; ++warp) counts[0][bin] += counts[warp][bin];
    merge(counts[0], out);
}
// --8<-- [end:v4]

// --8<-- [start:lanes]
// The 32 copies of each bin become one sum. Neighbouring threads begin with different banks.
__device__ void merge_lanes(const unsigned (*counts)[32], unsigned* out) {
    __syncthreads();
    for (int bin = threadIdx.x; bin < ROWS; bin += blockDim.x) {
        unsigned sum = 0;
        for (int k = 0; k < 32; ++k) sum += counts[bin][(bin + k) % 32];
        atomicAdd(&out[bin], sum);
    }
}
// --8<-- [end:lanes]

// --8<-- [start:v5]
__global__ void hist_v5(const T* x, unsigned* out, unsigned n) {
    __shared__ unsigned counts[ROWS][32];
    clear(counts[0], ROWS * 32);
    int lane = threadIdx.x % 32;  // whose counts all lie in bank `lane`
    for_each_bin(x, n, [&](int bin) { atomicAdd(&counts[bin][lane], 1); });
    merge_lanes(counts, out);
}
// --8<-- [end:v5]

// --8<-- [start:v6]
__global__ void __launch_bounds__(1024) hist_v6(const T* x, unsigned* out, unsigned n) {
    constexpr int EACH = 16 / sizeof(T), DEEP = 4;
    __shared__ unsigned counts[ROWS][32];
    for (int k = threadIdx.x; k < ROWS * 32; k += blockDim.x) counts[0][k] = 0;
    __syncthreads();
    int lane = threadIdx.x % 32;
    auto count = [&](int bin) { atomicAdd(&counts[bin][lane], 1); };
    const Pack* packs = reinterpret_cast<const Pack*>(x);
    unsigned first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x, i = first;
    for (; i + (DEEP - 1) * step < n / EACH; i += DEEP * step) {
        Pack pack[DEEP];
        for (int d = 0; d < DEEP; ++d) pack[d] = packs[i + d * step];
        for (int d = 0; d < DEEP; ++d)
            for (int k = 0; k < EACH; ++k) count(bin_of(pack[d].item[k]));
    }
    for (; i < n / EACH; i += step)  // the last packs, fewer than DEEP per thread
        for (int k = 0; k < EACH; ++k) count(bin_of(packs[i].item[k]));
    unsigned rest = n / EACH * EACH + first;
    if (rest < n) count(bin_of(x[rest]));
    merge_lanes(counts, out);
}
// --8<-- [end:v6]

// --8<-- [start:runs]
// v5, but equal neighbours are counted in a register first.
__global__ void hist_runs(const T* x, unsigned* out, unsigned n) {
    __shared__ unsigned counts[ROWS][32];
    clear(counts[0], ROWS * 32);
    int lane = threadIdx.x % 32, current = 0;
    unsigned run = 0;
    for_each_bin(x, n, [&](int bin) {
        if (bin != current) {
            atomicAdd(&counts[current][lane], run);
            current = bin;
            run = 0;
        }
        ++run;
    });
    atomicAdd(&counts[current][lane], run);
    merge_lanes(counts, out);
}
// --8<-- [end:runs]

// --8<-- [start:matched]
// v0, but lanes of a warp that have the same bin send one addition.
__global__ void hist_matched(const T* x, unsigned* out, unsigned n) {
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    int bin = i < n ? bin_of(x[i]) : ROWS;
    unsigned same = __match_any_sync(0xffffffff, bin);
    int first = __ffs(same) - 1;
    if (i < n && threadIdx.x % 32 == first) atomicAdd(&out[bin], __popc(same));
}
// --8<-- [end:matched]
}
