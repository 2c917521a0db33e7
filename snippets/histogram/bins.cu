// Histograms of many bins: a key of 16 bits belongs to bin key >> shift. `out` is zero before the launch.

constexpr int BLOCK = 1024;

struct alignas(16) Pack {
    unsigned short key[8];
};

// Calls count(key) for this thread's share of x, which is 16-byte aligned.
template <class Count>
__device__ void for_each_key(const unsigned short* x, unsigned n, Count count) {
    const Pack* packs = reinterpret_cast<const Pack*>(x);
    unsigned first = blockIdx.x * BLOCK + threadIdx.x;
    for (unsigned i = first; i < n / 8; i += gridDim.x * BLOCK) {
        Pack pack = packs[i];
        for (int k = 0; k < 8; ++k) count(pack.key[k]);
    }
    unsigned rest = n / 8 * 8 + first;
    if (rest < n) count(x[rest]);
}

extern "C" {
// --8<-- [start:many]
// All bins in global memory.
__global__ void many_global(const unsigned short* x, unsigned* out, unsigned n, int shift) {
    for_each_key(x, n, [&](unsigned key) { atomicAdd(&out[key >> shift], 1); });
}

// The bins from `begin` on, as many as shared memory holds: `size` of them.
__global__ void many_shared(const unsigned short* x, unsigned* out, unsigned n, int shift, unsigned begin,
                            unsigned size) {
    extern __shared__ unsigned counts[];
    for (unsigned k = threadIdx.x; k < size; k += BLOCK) counts[k] = 0;
    __syncthreads();
    for_each_key(x, n, [&](unsigned key) {
        unsigned bin = (key >> shift) - begin;  // wraps around for bins before `begin`
        if (bin < size) atomicAdd(&counts[bin], 1);
    });
    __syncthreads();
    for (unsigned k = threadIdx.x; k < size; k += BLOCK)
        if (counts[k]) atomicAdd(&out[begin + k], counts[k]);
}
// --8<-- [end:many]
}
