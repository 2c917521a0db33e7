// Histograms of 256 bins. Six kernels; each changes one thing of the one before. The last two are for skewed data.
//
//   v0      one addition in global memory per element
//   v1…v2   the bins of a block in shared memory: one element per thread, then a fixed grid that strides
//   v3…v4   a copy of the bins per warp, then per lane
//   v5      loads of 16 bytes
//
// `out` holds BINS counts of 32 bits, zero before the launch. ELEMENT is float or unsigned char; blocks have BLOCK threads.

#ifndef ELEMENT
#define ELEMENT float
#endif
using T = ELEMENT;

constexpr int BINS = 256, BLOCK = 512, LANES = 32;

// --8<-- [start:bin]
// Bins of equal width over [0, 1]; 1 itself is in the last. -1: in no bin.
__device__ int bin_of(float x) {
    if (!(x >= 0.0f && x <= 1.0f)) return -1;  // written so that NaN is in no bin
    return min(int(x * BINS), BINS - 1);
}

// A bin per value.
__device__ int bin_of(unsigned char x) { return x; }
// --8<-- [end:bin]

extern "C" {

// --8<-- [start:v0]
__global__ void hist_v0(const T* x, unsigned* out, unsigned n) {
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    int bin = bin_of(x[i]);
    if (bin >= 0) atomicAdd(&out[bin], 1);
}
// --8<-- [end:v0]

// --8<-- [start:v1]
__global__ void hist_v1(const T* x, unsigned* out, unsigned n) {
    __shared__ unsigned counts[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) counts[bin] = 0;
    __syncthreads();
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    int bin = i < n ? bin_of(x[i]) : -1;
    if (bin >= 0) atomicAdd(&counts[bin], 1);
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) atomicAdd(&out[bin], counts[bin]);
}
// --8<-- [end:v1]

// --8<-- [start:v2]
__global__ void hist_v2(const T* x, unsigned* out, unsigned n) {
    __shared__ unsigned counts[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) counts[bin] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
        int bin = bin_of(x[i]);
        if (bin >= 0) atomicAdd(&counts[bin], 1);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) atomicAdd(&out[bin], counts[bin]);
}
// --8<-- [end:v2]

// --8<-- [start:v3]
__global__ void hist_v3(const T* x, unsigned* out, unsigned n) {
    constexpr int WARPS = BLOCK / 32;
    __shared__ unsigned counts[WARPS][BINS];
    for (int k = threadIdx.x; k < WARPS * BINS; k += BLOCK) counts[0][k] = 0;
    __syncthreads();
    unsigned* own = counts[threadIdx.x / 32];
    for (unsigned i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
        int bin = bin_of(x[i]);
        if (bin >= 0) atomicAdd(&own[bin], 1);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) {
        unsigned sum = 0;
        for (int warp = 0; warp < WARPS; ++warp) sum += counts[warp][bin];
        atomicAdd(&out[bin], sum);
    }
}
// --8<-- [end:v3]

// --8<-- [start:lanes]
// 32 copies of the bins, interleaved: that of lane k lies in bank k, all of it.
__device__ void clear(unsigned (*counts)[LANES]) {
    for (int k = threadIdx.x; k < BINS * LANES; k += BLOCK) counts[0][k] = 0;
    __syncthreads();
}

// Neighbouring threads begin with different lanes, or they would all read one bank.
__device__ void merge(unsigned (*counts)[LANES], unsigned* out) {
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) {
        unsigned sum = 0;
        for (int k = 0; k < LANES; ++k) sum += counts[bin][(bin + k) % LANES];
        atomicAdd(&out[bin], sum);
    }
}
// --8<-- [end:lanes]

// --8<-- [start:v4]
__global__ void hist_v4(const T* x, unsigned* out, unsigned n) {
    __shared__ unsigned counts[BINS][LANES];
    clear(counts);
    int lane = threadIdx.x % LANES;
    for (unsigned i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
        int bin = bin_of(x[i]);
        if (bin >= 0) atomicAdd(&counts[bin][lane], 1);
    }
    merge(counts, out);
}
// --8<-- [end:v4]

// --8<-- [start:v5]
struct alignas(16) Pack {
    T item[16 / sizeof(T)];
};

__global__ void hist_v5(const T* x, unsigned* out, unsigned n) {
    constexpr int EACH = 16 / sizeof(T);
    __shared__ unsigned counts[BINS][LANES];
    clear(counts);
    int lane = threadIdx.x % LANES;
    unsigned first = blockIdx.x * BLOCK + threadIdx.x;
    const Pack* packs = reinterpret_cast<const Pack*>(x);
    for (unsigned i = first; i < n / EACH; i += gridDim.x * BLOCK) {
        Pack pack = packs[i];
        for (int k = 0; k < EACH; ++k) {
            int bin = bin_of(pack.item[k]);
            if (bin >= 0) atomicAdd(&counts[bin][lane], 1);
        }
    }
    unsigned rest = n / EACH * EACH + first;  // at most 15 elements
    int bin = rest < n ? bin_of(x[rest]) : -1;
    if (bin >= 0) atomicAdd(&counts[bin][lane], 1);
    merge(counts, out);
}
// --8<-- [end:v5]

// --8<-- [start:runs]
// v5, but equal neighbours are counted in a register and added at once.
__global__ void hist_runs(const T* x, unsigned* out, unsigned n) {
    constexpr int EACH = 16 / sizeof(T);
    __shared__ unsigned counts[BINS][LANES];
    clear(counts);
    int lane = threadIdx.x % LANES, current = -1;
    unsigned run = 0;
    unsigned first = blockIdx.x * BLOCK + threadIdx.x;
    const Pack* packs = reinterpret_cast<const Pack*>(x);
    for (unsigned i = first; i < n / EACH; i += gridDim.x * BLOCK) {
        Pack pack = packs[i];
        for (int k = 0; k < EACH; ++k) {
            int bin = bin_of(pack.item[k]);
            if (bin != current) {
                if (current >= 0) atomicAdd(&counts[current][lane], run);
                current = bin;
                run = 0;
            }
            ++run;
        }
    }
    if (current >= 0) atomicAdd(&counts[current][lane], run);
    unsigned rest = n / EACH * EACH + first;
    int bin = rest < n ? bin_of(x[rest]) : -1;
    if (bin >= 0) atomicAdd(&counts[bin][lane], 1);
    merge(counts, out);
}
// --8<-- [end:runs]

// --8<-- [start:matched]
// v0, but lanes of a warp that have the same bin send one addition.
__global__ void hist_matched(const T* x, unsigned* out, unsigned n) {
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    int bin = i < n ? bin_of(x[i]) : -1;
    unsigned same = __match_any_sync(0xffffffff, bin);
    int first = __ffs(same) - 1;
    if (bin >= 0 && threadIdx.x % 32 == first) atomicAdd(&out[bin], __popc(same));
}
// --8<-- [end:matched]
}
