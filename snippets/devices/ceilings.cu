// The most that each part of a device can do: one kernel for each, with as little else in it as will do.
//
//   copy, read, write   paths of memory, 16 bytes a load or store; read also runs over and over what fits the L2
//   shared_read         shared memory, all banks in every cycle
//   fma32 … imad        arithmetic: CHAINS independent chains of one instruction in each thread
//   mma16               tensor cores through mma.sync: fp16 products, fp32 sums
//   nothing             a launch
//
// Every value that a kernel computes is written, so that the compiler keeps it and the program can check it.
#include <cuda_fp16.h>

#ifndef CHAINS
#define CHAINS 12  // independent chains a thread, to cover the latency of the instruction
#endif

using Index = long long;

constexpr int UNROLL = 4;   // independent 16-byte loads a thread has in flight
constexpr int STEPS = 32;   // steps a turn of the loop: CHAINS * STEPS instructions for about three of the loop's own
constexpr int APART = 512;  // bytes that a warp's loads of 16 bytes a lane cover

// --8<-- [start:chains]
// One step is one instruction. x * x + c with c near -2 wanders over (-2, 2) for ever: no two steps see the same bits.
__device__ float step(float x, float, float c) { return fmaf(x, x, c); }
__device__ double step(double x, double, double c) { return fma(x, x, c); }
__device__ __half2 step(__half2 x, __half2, __half2 c) { return __hfma2(x, x, c); }
__device__ unsigned step(unsigned x, unsigned a, unsigned c) { return x * a + c; }

template <typename T>
__device__ void chains(const T* from, T* to, T a, T c, int rounds) {
    T x[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; ++k) x[k] = from[k * blockDim.x + threadIdx.x];
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s) {
#pragma unroll
            for (int k = 0; k < CHAINS; ++k) x[k] = step(x[k], a, c);
        }
    }
#pragma unroll
    for (int k = 0; k < CHAINS; ++k) to[((Index)blockIdx.x * CHAINS + k) * blockDim.x + threadIdx.x] = x[k];
}
// --8<-- [end:chains]

extern "C" {

// --8<-- [start:memory]
__global__ void copy(const uint4* from, uint4* to, Index packs) {
    Index i = (Index)blockIdx.x * UNROLL * blockDim.x + threadIdx.x;
    uint4 p[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; ++k)
        if (i + k * blockDim.x < packs) p[k] = from[i + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < UNROLL; ++k)
        if (i + k * blockDim.x < packs) to[i + k * blockDim.x] = p[k];
}

__global__ void write(uint4* to, Index packs, unsigned seed) {
    Index i = (Index)blockIdx.x * UNROLL * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < UNROLL; ++k, i += blockDim.x) {
        unsigned h = (unsigned)i * 2654435761u + seed;
        if (i < packs) to[i] = make_uint4(h, h ^ 0x55555555u, ~h, h + seed);
    }
}

// Adds up all words, `rounds` times over. __ldcg reads through the L2 and leaves the L1 out; in each round a block
// takes another part of the data, so that every SM reads from every slice of the L2.
__global__ void read(const uint4* from, unsigned* sums, Index packs, int rounds) {
    Index tile = (Index)UNROLL * blockDim.x, stride = tile * gridDim.x;
    unsigned sum = 0;
    for (int round = 0; round < rounds; ++round) {
        Index i = tile * ((blockIdx.x + 37u * round) % gridDim.x) + threadIdx.x;
        for (; i + (UNROLL - 1) * blockDim.x < packs; i += stride) {
            uint4 p[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; ++k) p[k] = __ldcg(from + i + k * blockDim.x);
#pragma unroll
            for (int k = 0; k < UNROLL; ++k) sum += p[k].x + p[k].y + p[k].z + p[k].w;
        }
        for (int k = 0; k < UNROLL && i < packs; ++k, i += blockDim.x) {
            uint4 p = __ldcg(from + i);
            sum += p.x + p.y + p.z + p.w;
        }
    }
    sums[(Index)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// --8<-- [end:memory]

// --8<-- [start:shared]
// Eight loads of 16 bytes a thread and round. A warp's 512 bytes are in a row: four cycles, all 32 banks busy.
__global__ void shared_read(const uint4* from, unsigned* sums, int rounds) {
    __shared__ uint4 tile[1024 + 7 * 32];
    for (int i = threadIdx.x; i < blockDim.x + 7 * 32; i += blockDim.x) tile[i] = from[i];
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x), sum = 0;
#pragma unroll 4
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            uint4 p;  // ld.volatile, or ptxas loads once and adds many times; the word volatile alone does not reach it
            asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(p.x), "=r"(p.y), "=r"(p.z), "=r"(p.w)
                         : "r"(at + k * APART));
            sum += p.x + p.y + p.z + p.w;
        }
    }
    sums[(Index)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// --8<-- [end:shared]

__global__ void fma32(const float* from, float* to, float a, float c, int rounds) { chains(from, to, a, c, rounds); }
__global__ void fma64(const double* from, double* to, double a, double c, int rounds) {
    chains(from, to, a, c, rounds);
}
__global__ void fma16(const __half2* from, __half2* to, __half2 a, __half2 c, int rounds) {
    chains(from, to, a, c, rounds);
}
__global__ void imad(const unsigned* from, unsigned* to, unsigned a, unsigned c, int rounds) {
    chains(from, to, a, c, rounds);
}

// --8<-- [start:mma]
// Each warp adds its A · B to a 32 × 32 tile, `rounds` times: 2 × 4 products of 16 × 8 × 16, none waiting for another.
// a: warps × 32 rows × 16 halves; b: warps × 32 columns × 16 halves; c: blocks × warps × 32 × 32 floats.
__global__ void mma16(const unsigned* a, const unsigned* b, float* c, int rounds) {
    int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4;
    unsigned row[2][4], column[4][2];
    float sum[2][4][4] = {};
    // A register holds two neighbours along k; lane (group, pair) has rows group and group + 8, pairs pair and pair + 4.
    for (int m = 0; m < 2; ++m)
        for (int j = 0; j < 4; ++j) row[m][j] = a[(warp * 32 + m * 16 + j % 2 * 8 + group) * 8 + j / 2 * 4 + pair];
    for (int n = 0; n < 4; ++n)
        for (int j = 0; j < 2; ++j) column[n][j] = b[(warp * 32 + n * 8 + group) * 8 + j * 4 + pair];
#pragma unroll 4
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int m = 0; m < 2; ++m) {
#pragma unroll
            for (int n = 0; n < 4; ++n) {
                float* d = sum[m][n];
                asm volatile(
                    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                    : "r"(row[m][0]), "r"(row[m][1]), "r"(row[m][2]), "r"(row[m][3]), "r"(column[n][0]),
                      "r"(column[n][1]));
            }
        }
    }
    float* tile = c + ((Index)blockIdx.x * (blockDim.x / 32) + warp) * 32 * 32;
    for (int m = 0; m < 2; ++m)
        for (int n = 0; n < 4; ++n)
            for (int j = 0; j < 4; ++j)
                tile[(m * 16 + j / 2 * 8 + group) * 32 + n * 8 + pair * 2 + j % 2] = sum[m][n][j];
}
// --8<-- [end:mma]

// A launch that does nothing, or counts itself.
__global__ void nothing(unsigned* count) {
    if (count) atomicAdd(count, 1u);
}

// One thread that keeps the device waiting, so that the host can enqueue what comes next.
__global__ void wait(unsigned long long nanoseconds) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
}

}  // extern "C"
