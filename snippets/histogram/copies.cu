// Bytes counted in R copies of 256 bins per block, laid out in three ways. Thread t counts in copy t % R.

constexpr int BINS = 256, BLOCK = 512;

// --8<-- [start:layouts]
// The word of shared memory that holds a bin of a copy.
struct Apart {  // copy after copy
    static __device__ int word(int bin, int copy, int copies) { return copy * BINS + bin; }
};
struct Padded {  // the same, a word of padding after each copy
    static __device__ int word(int bin, int copy, int copies) { return copy * (BINS + 1) + bin; }
};
struct Interleaved {  // bin after bin
    static __device__ int word(int bin, int copy, int copies) { return bin * copies + copy; }
};
// --8<-- [end:layouts]

template <class Layout, int R>
__device__ void hist(const unsigned char* x, unsigned* out, unsigned n, unsigned amount) {
    __shared__ unsigned counts[R * (BINS + 1)];
    for (int k = threadIdx.x; k < R * (BINS + 1); k += BLOCK) counts[k] = 0;
    __syncthreads();
    int copy = threadIdx.x % R;
    const uint4* packs = reinterpret_cast<const uint4*>(x);
    unsigned first = blockIdx.x * BLOCK + threadIdx.x;
    for (unsigned i = first; i < n / 16; i += gridDim.x * BLOCK) {
        uint4 pack = packs[i];
        for (unsigned four : {pack.x, pack.y, pack.z, pack.w})
            for (int shift = 0; shift < 32; shift += 8)
                atomicAdd(&counts[Layout::word(four >> shift & 255, copy, R)], amount);
    }
    unsigned rest = n / 16 * 16 + first;
    if (rest < n) atomicAdd(&counts[Layout::word(x[rest], copy, R)], amount);
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) {
        unsigned sum = 0;
        for (int k = 0; k < R; ++k) sum += counts[Layout::word(bin, (bin + k) % R, R)];
        atomicAdd(&out[bin], sum);
    }
}

extern "C" {
#define KERNELS(R)                                                                                                   \
    __global__ void apart_##R(const unsigned char* x, unsigned* out, unsigned n) { hist<Apart, R>(x, out, n, 1); }   \
    __global__ void padded_##R(const unsigned char* x, unsigned* out, unsigned n) { hist<Padded, R>(x, out, n, 1); } \
    __global__ void interleaved_##R(const unsigned char* x, unsigned* out, unsigned n) {                             \
        hist<Interleaved, R>(x, out, n, 1);                                                                          \
    }

KERNELS(1)
KERNELS(2)
KERNELS(4)
KERNELS(8)
KERNELS(16)
KERNELS(32)

// --8<-- [start:amount]
// The same with an amount that the compiler does not know: another instruction.
__global__ void amount_1(const unsigned char* x, unsigned* out, unsigned n, unsigned amount) {
    hist<Interleaved, 1>(x, out, n, amount);
}
__global__ void amount_32(const unsigned char* x, unsigned* out, unsigned n, unsigned amount) {
    hist<Interleaved, 32>(x, out, n, amount);
}
// --8<-- [end:amount]
}
