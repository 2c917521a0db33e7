// Read and add up n words so that each thread has a known number of bytes on their way, and no more: it loads, waits
// for all of them, adds, and only then loads again.

typedef long long Index;

__device__ unsigned total(unsigned v) { return v; }
__device__ unsigned total(uint2 v) { return v.x + v.y; }
__device__ unsigned total(uint4 v) { return v.x + v.y + v.z + v.w; }

// --8<-- [start:read]
// T: what one load brings, 4 to 16 bytes. LOADS: how many a thread issues before it needs the first.
template <typename T, int LOADS>
__device__ void read_with(const unsigned* words, unsigned* sums, Index n) {
    const T* from = (const T*)words;
    Index packs = n / (sizeof(T) / 4), step = (Index)gridDim.x * blockDim.x;
    Index me = (Index)blockIdx.x * blockDim.x + threadIdx.x, i = me;
    unsigned sum = 0;
#pragma unroll 1
    for (; i + (LOADS - 1) * step < packs; i += LOADS * step) {
        T v[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; ++k) v[k] = from[i + k * step];
#pragma unroll
        for (int k = 0; k < LOADS; ++k) sum += total(v[k]);
    }
#pragma unroll 1
    for (; i < packs; i += step) sum += total(from[i]);
    if (me < n % (sizeof(T) / 4)) sum += words[packs * (sizeof(T) / 4) + me];
    sums[me] = sum;
}
// --8<-- [end:read]

extern "C" {

__global__ void read4(const unsigned* words, unsigned* sums, Index n) { read_with<unsigned, 1>(words, sums, n); }
__global__ void read8(const unsigned* words, unsigned* sums, Index n) { read_with<uint2, 1>(words, sums, n); }
__global__ void read16(const unsigned* words, unsigned* sums, Index n) { read_with<uint4, 1>(words, sums, n); }
__global__ void read32(const unsigned* words, unsigned* sums, Index n) { read_with<uint4, 2>(words, sums, n); }
__global__ void read64(const unsigned* words, unsigned* sums, Index n) { read_with<uint4, 4>(words, sums, n); }

}  // extern "C"
