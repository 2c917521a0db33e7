// Products of bf16 matrices with sums in fp32, for the three passes of a linear layer y = x Wᵀ:
//
//   forward   DOWN_A 0, DOWN_B 0   C = A Bᵀ    x [rows, in] and W [out, in]: what is summed over lies along the rows of both
//   input     DOWN_A 0, DOWN_B 1   C = A B     dy [rows, out] and W [out, in]: down the columns of B
//   weight    DOWN_A 1, DOWN_B 1   C = Aᵀ B    dy [rows, out] and x [rows, in]: down the columns of both
//
// C is M x N. M may be any number, N is a multiple of 8 and K of 64. A block computes 128 x BN of it: one warp asks for boxes
// of 64 x 64 elements, two warpgroups multiply, as in matmul-tensor/wgmma.cu. A matrix in heads lies as planes of
// [time, 64], a head of a sequence each: a box is a piece of one plane, so nothing is ever transposed in memory.
#ifndef DOWN_A
#define DOWN_A 0
#define DOWN_B 0
#endif
#ifndef STAGES
#define STAGES 4  // pieces of A and of B in the ring
#endif
#ifndef BN
#define BN 256  // columns of a tile: 128 or 256
#endif
#define QUOTE(x) #x
#define AS_TEXT(x) QUOTE(x)
#define ELEMENT 2
#define OUT 0
#define WGMMA_TYPE "k16.f32.bf16.bf16"
#define WGMMA_FLAGS ", 1, 1, " AS_TEXT(DOWN_A) ", " AS_TEXT(DOWN_B)
#include "../matmul-tensor/hopper.cuh"
#include "gpt2.cuh"

constexpr int BM = 128, BK = 64, BOX = 64 * 64 * 2;  // a box: 64 rows of 128 bytes
constexpr int A_BYTES = BM / 64 * BOX, B_BYTES = BN / 64 * BOX;
constexpr int GROUP = 16;  // rows of tiles that are taken together, so that their operands stay in the L2
enum { A_HEADS = 1, B_HEADS = 2, C_HEADS = 4 };
__constant__ CUtensorMap
    table[256];  // of every matrix of the model: the host writes each once, launches give its number

// --8<-- [start:operands]
// 64 x 64 elements from (row, column) on.
__device__ __forceinline__ void load_box(unsigned to, const CUtensorMap* map, int row, int column, bool in_heads,
                                         Heads heads, unsigned barrier) {
    if (in_heads)
        tile_load(to, map, 0, heads.line(row, column / 64), barrier);
    else
        tile_load(to, map, column, row, barrier);
}

// `at`: the step's 16 of K. Along the rows they are 32 bytes of each; down the columns, 16 rows of 128 bytes, and the next
// 64 columns are one box further.
template <bool DOWN>
__device__ __forceinline__ u64 operand(unsigned tile, int at) {
    if (!DOWN) return descriptor(tile) + 2 * at;
    return ((tile + at * 2048) & 0x3ffff) >> 4 | (u64)(BOX >> 4) << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}
// --8<-- [end:operands]

// --8<-- [start:endings]
// What becomes of two neighbouring sums at (row, column).
enum Ending { STORE, BIAS, GELU, RESIDUAL, SLOPE, FLOATS };
struct Target {
    void* out;
    const bf16* bias;  // of a column: BIAS, GELU, RESIDUAL
    bf16* other;       // what GELU leaves for the way back, SLOPE reads that; RESIDUAL: the stream that goes around
};

template <Ending ENDING>
__device__ __forceinline__ void finish(const Target& target, size_t at, size_t plain, int column, float a, float b) {
    if (ENDING == FLOATS) {
        *(float2*)((float*)target.out + at) = make_float2(a, b);
        return;
    }
    if (ENDING == BIAS || ENDING == GELU || ENDING == RESIDUAL) {
        const float2 add = __bfloat1622float2(*(const __nv_bfloat162*)(target.bias + column));
        a += add.x, b += add.y;
    }
    if (ENDING == RESIDUAL) {
        const float2 add = __bfloat1622float2(*(const __nv_bfloat162*)(target.other + plain));
        a += add.x, b += add.y;
    }
    if (ENDING == GELU) {
        const __nv_bfloat162 before = __floats2bfloat162_rn(a, b);
        *(__nv_bfloat162*)(target.other + plain) = before;
        const float2 rounded = __bfloat1622float2(before);  // the way back sees the same number
        a = gelu(rounded.x), b = gelu(rounded.y);
    }
    if (ENDING == SLOPE) {
        const float2 before = __bfloat1622float2(*(const __nv_bfloat162*)(target.other + plain));
        a *= gelu_slope(before.x), b *= gelu_slope(before.y);
    }
    *(__nv_bfloat162*)((bf16*)target.out + at) = __floats2bfloat162_rn(a, b);
}
// --8<-- [end:endings]

template <Ending ENDING>
__device__ __forceinline__ void store_tile(const Target& target, int M, int N, int row, int column, bool in_heads,
                                           Heads heads, const float (&d)[BN / 2]) {
    const int r = row + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
#pragma unroll
    for (int j = 0; j < BN / 8; j++) {
        const int c = column + 8 * j + threadIdx.x % 4 * 2;
        if (c >= N) continue;
#pragma unroll
        for (int below = 0; below < 2; below++) {
            const int y = r + 8 * below;
            if (y >= M) continue;
            const size_t plain = (size_t)y * N + c;
            const size_t at = in_heads ? (size_t)heads.line(y, c / 64) * 64 + c % 64 : plain;
            finish<ENDING>(target, at, plain, c, d[4 * j + 2 * below], d[4 * j + 2 * below + 1]);
        }
    }
}

// --8<-- [start:multiply]
// blockIdx.x is a tile, blockIdx.y a part of K: parts leave their sums below each other.
template <Ending ENDING>
__device__ __forceinline__ void multiply(const CUtensorMap* a, const CUtensorMap* b, Target target, int M, int N, int K,
                                         int in_heads, Heads heads) {
    __shared__ u64 barriers[2 * STAGES];
    const unsigned As = shared_address(memory), Bs = As + STAGES * A_BYTES;
    const unsigned full = shared_address(barriers), empty = full + 8 * STAGES;
    const int rows = (M + BM - 1) / BM, columns = (N + BN - 1) / BN, per = GROUP * columns;
    const int first = (int)blockIdx.x / per * GROUP, high = min(GROUP, rows - first), t = (int)blockIdx.x % per;
    const int m = (first + t % high) * BM, n = t / high * BN, group = threadIdx.x / 128;
    const int all = K / BK, each = (all + (int)gridDim.y - 1) / (int)gridDim.y, begin = (int)blockIdx.y * each;
    const int steps = min(each, all - begin);  // the host leaves no part empty
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, 2);
        }
        barrier_init_done();
    }
    __syncthreads();

    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x > 0) return;
        for (int i = 0; i < steps; i++) {
            const int s = i % STAGES, k = (begin + i) * BK;
            barrier_wait(empty + 8 * s, i / STAGES % 2 ^ 1);
            barrier_expect(full + 8 * s, A_BYTES + B_BYTES);
            for (int p = 0; p < BM; p += 64)
                load_box(As + s * A_BYTES + p / 64 * BOX, a, DOWN_A ? k : m + p, DOWN_A ? m + p : k, in_heads & A_HEADS,
                         heads, full + 8 * s);
            for (int p = 0; p < BN; p += 64)
                load_box(Bs + s * B_BYTES + p / 64 * BOX, b, DOWN_B ? k : n + p, DOWN_B ? n + p : k, in_heads & B_HEADS,
                         heads, full + 8 * s);
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float d[BN / 2];
    for (int i = 0; i < steps; i++) {
        const int s = i % STAGES;
        barrier_wait(full + 8 * s, i / STAGES % 2);
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < BK / 16; k++)
            wgmma(d, operand<DOWN_A>(As + s * A_BYTES + (group - 1) * BOX, k), operand<DOWN_B>(Bs + s * B_BYTES, k),
                  i > 0 || k > 0);
        wgmma_commit();
        wgmma_wait<1>();  // the step before is summed, and its stage is free
        if (i > 0 && threadIdx.x % 128 == 0) barrier_arrive(empty + 8 * ((i - 1) % STAGES));
    }
    wgmma_wait<0>();
    wgmma_done(d);
    if (ENDING == FLOATS) target.out = (float*)target.out + (size_t)blockIdx.y * M * N;
    store_tile<ENDING>(target, M, N, m + (group - 1) * 64, n, in_heads & C_HEADS, heads, d);
}
// --8<-- [end:multiply]

#define GEMM(NAME, ENDING)                                                                                             \
    extern "C" __global__ void __launch_bounds__(384, 1)                                                               \
        NAME(int a, int b, void* out, const bf16* bias, bf16* other, int M, int N, int K, int in_heads, Heads heads) { \
        multiply<ENDING>(&table[a], &table[b], {out, bias, other}, M, N, K, in_heads, heads);                          \
    }
#if !DOWN_B
GEMM(linear, BIAS)
GEMM(linear_gelu, GELU)
GEMM(linear_residual, RESIDUAL)
GEMM(logits, STORE)
#elif !DOWN_A
GEMM(input_backward, STORE)
GEMM(input_backward_gelu, SLOPE)
#else
GEMM(weight_backward, FLOATS)
#endif
