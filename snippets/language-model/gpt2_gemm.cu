// Products of bf16 matrices with sums in fp32, for the three passes of a linear layer y = x Wᵀ:
//
//   forward   DOWN_A 0, DOWN_B 0   C = A Bᵀ    x [rows, in] and W [out, in]: what is summed over lies along the rows of both
//   input     DOWN_A 0, DOWN_B 1   C = A B     dy [rows, out] and W [out, in]: down the columns of B
//   weight    DOWN_A 1, DOWN_B 1   C = Aᵀ B    dy [rows, out] and x [rows, in]: down the columns of both
//
// C is M x N. M may be any number, N is a multiple of 8 and K of 64. Blocks stay, one per SM, and compute one tile of 128 x 256
// after the other: one warp asks for boxes of 64 x 64 elements, two warpgroups multiply, as in matmul-tensor/persistent.cu.
// A matrix in heads lies as planes of [time, 64], a head of a sequence each: a box is a piece of one plane, so nothing is ever
// transposed in memory.
#ifndef DOWN_A
#define DOWN_A 0
#define DOWN_B 0
#endif
#ifndef STAGES
#define STAGES 3  // pieces of A and of B in the ring
#endif
#define QUOTE(x) #x
#define AS_TEXT(x) QUOTE(x)
#define ELEMENT 2
#define OUT 0
#define WGMMA_TYPE "k16.f32.bf16.bf16"
#define WGMMA_FLAGS ", 1, 1, " AS_TEXT(DOWN_A) ", " AS_TEXT(DOWN_B)
#include "../matmul-tensor/hopper.cuh"
#include "gpt2.cuh"

constexpr int BM = 128, BN = 256, BK = 64, BOX = 64 * 64 * 2;  // a box: 64 rows of 128 bytes
constexpr int A_BYTES = BM / 64 * BOX, B_BYTES = BN / 64 * BOX;
constexpr int SLOTS = BN / 64;  // boxes of C for which each of the two warpgroups has room
constexpr int GROUP = 16;       // rows of tiles that are taken together, so that their operands stay in the L2
enum { A_HEADS = 1, B_HEADS = 2, C_HEADS = 4 };
// Of every matrix of the model: the host writes each once, launches give its number.
__constant__ CUtensorMap table[256];

// --8<-- [start:operands]
// 64 x 64 elements from (row, column) on.
__device__ __forceinline__ void load_box(unsigned to, const CUtensorMap* map, int row, int column, bool in_heads,
                                         Heads heads, unsigned barrier) {
    if (in_heads)
        tile_load(to, map, 0, heads.line(row, column / 64), barrier);
    else
        tile_load(to, map, column, row, barrier);
}
__device__ __forceinline__ void store_box(const CUtensorMap* map, int row, int column, bool in_heads, Heads heads,
                                          unsigned from) {
    if (in_heads)
        tile_store(map, 0, heads.line(row, column / 64), from);
    else
        tile_store(map, column, row, from);
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
// What becomes of two neighbouring sums. GELU also stores what went into it, SLOPE reads that on the way back; RESIDUAL reads
// the stream that goes around the layer.
enum Ending { STORE, BIAS, GELU, RESIDUAL, SLOPE, FLOATS };
template <Ending E>
constexpr bool HAS_BIAS = E == BIAS || E == GELU || E == RESIDUAL;
template <Ending E>
constexpr bool READS_OTHER = E == RESIDUAL || E == SLOPE;

__device__ __forceinline__ float2 open(unsigned two) { return __bfloat1622float2(*(const __nv_bfloat162*)&two); }

// Two sums a and b as bf16; `other` is what lies there in the other matrix, and becomes what GELU leaves there.
template <Ending ENDING>
__device__ __forceinline__ unsigned finish(float a, float b, float2 bias, unsigned& other) {
    if (HAS_BIAS<ENDING>) a += bias.x, b += bias.y;
    if (READS_OTHER<ENDING>) {
        const float2 old = open(other);
        if (ENDING == RESIDUAL) a += old.x, b += old.y;
        if (ENDING == SLOPE) a *= gelu_slope(old.x), b *= gelu_slope(old.y);
    }
    if (ENDING == GELU) {
        other = pack(a, b);
        const float2 rounded = open(other);  // the way back sees the same number
        a = gelu(rounded.x), b = gelu(rounded.y);
    }
    return pack(a, b);
}
// --8<-- [end:endings]

__device__ __forceinline__ void ldmatrix(unsigned from, unsigned (&to)[4]) {  // stmatrix back
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
}

// 64 x 64 sums to `to` in shared memory, swizzled as the maps have it. `beside` is where the other matrix's box is, or will be.
template <Ending ENDING>
__device__ __forceinline__ void finish_box(unsigned to, unsigned beside, const bf16* bias, const float* d) {
    const int thread = threadIdx.x % 128, lane = thread % 32, r = thread / 32 * 16 + lane % 16;
#pragma unroll
    for (int j = 0; j < 8; j += 2) {  // 16 columns: in two rows of a thread, two of every eight
        const unsigned at = r * 128 + ((j + lane / 16) ^ r % 8) * 16;
        unsigned out[4], other[4] = {};
        if (READS_OTHER<ENDING>) ldmatrix(beside + at, other);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int c = j + i / 2;
            float2 add = {};
            if (HAS_BIAS<ENDING>) add = __bfloat1622float2(((const __nv_bfloat162*)bias)[4 * c + lane % 4]);
            out[i] = finish<ENDING>(d[4 * c + i % 2 * 2], d[4 * c + i % 2 * 2 + 1], add, other[i]);
        }
        stmatrix(to + at, out[0], out[1], out[2], out[3]);
        if (ENDING == GELU) stmatrix(beside + at, other[0], other[1], other[2], other[3]);
    }
}

__device__ __forceinline__ void store_floats(float* out, int M, int N, int row, int column, const float (&d)[BN / 2]) {
    const int r = row + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
#pragma unroll
    for (int j = 0; j < BN / 8; j++) {
        const int c = column + 8 * j + threadIdx.x % 4 * 2;
        if (c >= N) continue;
        if (r < M) *(float2*)(out + (size_t)r * N + c) = make_float2(d[4 * j], d[4 * j + 1]);
        if (r + 8 < M) *(float2*)(out + (size_t)(r + 8) * N + c) = make_float2(d[4 * j + 2], d[4 * j + 3]);
    }
}

struct Operands {
    const CUtensorMap *a, *b, *out, *other;
    const bf16* bias;  // of a column
    float* sums;       // FLOATS: parts of K below each other
};

// --8<-- [start:multiply]
template <Ending ENDING>
__device__ __forceinline__ void multiply(const Operands& of, int M, int N, int K, int parts, int in_heads,
                                         Heads heads) {
    __shared__ u64 barriers[2 * STAGES + 2];
    __shared__ __align__(16) bf16 biases[2][BN];
    const unsigned As = shared_address(memory), Bs = As + STAGES * A_BYTES, Cs = Bs + STAGES * B_BYTES;
    const unsigned full = shared_address(barriers), empty = full + 8 * STAGES, other_full = empty + 8 * STAGES;
    const int rows = (M + BM - 1) / BM, columns = (N + BN - 1) / BN, per = GROUP * columns;
    const int all = K / BK, each = (all + parts - 1) / parts;  // the host leaves no part of K empty
    const int group = __shfl_sync(~0u, threadIdx.x / 128, 0), thread = threadIdx.x % 128;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, 2);
        }
        barrier_init(other_full, 1);
        barrier_init(other_full + 8, 1);
        barrier_init_done();
    }
    __syncthreads();

    int m, n, part, begin, steps, s = 0, phase = 0;  // the ring goes on from tile to tile
    auto tile = [&](int i) {                         // the block's i-th; false if it has no more
        const int w = blockIdx.x + i * gridDim.x, t = w % (rows * columns), first = t / per * GROUP;
        const int high = min(GROUP, rows - first);
        m = (first + t % per % high) * BM, n = t % per / high * BN;
        part = w / (rows * columns), begin = part * each, steps = min(each, all - begin);
        return part < parts;
    };
    auto advance = [&] {
        if (++s == STAGES) s = 0, phase ^= 1;
    };
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (thread > 0) return;
        for (int i = 0; tile(i); i++)
            for (int step = 0; step < steps; step++, advance()) {
                const int k = (begin + step) * BK;
                barrier_wait(empty + 8 * s, phase ^ 1);
                barrier_expect(full + 8 * s, A_BYTES + B_BYTES);
                for (int p = 0; p < BM; p += 64)
                    load_box(As + s * A_BYTES + p / 64 * BOX, of.a, DOWN_A ? k : m + p, DOWN_A ? m + p : k,
                             in_heads & A_HEADS, heads, full + 8 * s);
                for (int p = 0; p < BN; p += 64)
                    load_box(Bs + s * B_BYTES + p / 64 * BOX, of.b, DOWN_B ? k : n + p, DOWN_B ? n + p : k,
                             in_heads & B_HEADS, heads, full + 8 * s);
            }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const unsigned mine = Cs + (group - 1) * SLOTS * BOX;
    for (int i = 0; tile(i); i++) {
        const int row = m + (group - 1) * 64, boxes = min(SLOTS, (N - n + 63) / 64);
        unsigned two = 0;  // of the columns' biases: loaded now, needed when the sums are there
        if (HAS_BIAS<ENDING> && n + 2 * thread < N) two = __ldg((const unsigned*)(of.bias + n) + thread);
        float d[BN / 2];
        int before = -1;  // the stage of the step before
        for (int k = 0; k < steps; k++, advance()) {
            barrier_wait(full + 8 * s, phase);
            wgmma_fence();
#pragma unroll
            for (int j = 0; j < BK / 16; j++)
                wgmma(d, operand<DOWN_A>(As + s * A_BYTES + (group - 1) * BOX, j), operand<DOWN_B>(Bs + s * B_BYTES, j),
                      k > 0 || j > 0);
            wgmma_commit();
            if (READS_OTHER<ENDING> && k == min(1, steps - 1) && thread == 0) {  // while the first products run
                asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");   // the tile before has left
                barrier_expect(other_full + 8 * (group - 1), boxes * BOX);
                for (int b = 0; b < boxes; b++)
                    tile_load(mine + b * BOX, of.other, n + 64 * b, row, other_full + 8 * (group - 1));
            }
            wgmma_wait<1>();  // the step before is summed, and its stage is free
            if (before >= 0 && thread == 0) barrier_arrive(empty + 8 * before);
            before = s;
        }
        wgmma_wait<0>();
        wgmma_done(d);
        if (thread == 0) barrier_arrive(empty + 8 * before);
        // --8<-- [end:multiply]
        if (ENDING == FLOATS) {
            store_floats(of.sums + (size_t)part * M * N, M, N, row, n, d);
            continue;
        }
        // --8<-- [start:leave]
        bf16* bias = biases[group - 1];
        if (HAS_BIAS<ENDING>) {
            ((unsigned*)bias)[thread] = two;
            asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");
        }
        if (READS_OTHER<ENDING>) barrier_wait(other_full + 8 * (group - 1), i & 1);
        constexpr int ROOM = ENDING == GELU ? SLOTS / 2 : SLOTS;  // boxes of C whose copies may be under way
#pragma unroll
        for (int b = 0; b < SLOTS; b++) {
            if (b >= boxes) break;
            const unsigned to = mine + b % ROOM * BOX, beside = ENDING == GELU ? to + ROOM * BOX : to;
            if (!READS_OTHER<ENDING>) {  // what was copied from here has been read
                if (thread == 0) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(ROOM - 1) : "memory");
                asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");
            }
            finish_box<ENDING>(to, beside, bias + 64 * b, d + 32 * b);
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the copy engine sees what we wrote
            asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");
            if (thread == 0) {
                store_box(of.out, row, n + 64 * b, in_heads & C_HEADS, heads, to);
                if (ENDING == GELU) tile_store(of.other, n + 64 * b, row, beside);
                asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            }
        }
        // --8<-- [end:leave]
    }
    if (thread == 0) copies_done();
}

#define GEMM(NAME, ENDING)                                                                                    \
    extern "C" __global__ void __launch_bounds__(384, 1)                                                      \
        NAME(int a, int b, int out, int other, const bf16* bias, float* sums, int M, int N, int K, int parts, \
             int in_heads, Heads heads) {                                                                     \
        const Operands of = {&table[a], &table[b], &table[out], &table[other], bias, sums};                   \
        multiply<ENDING>(of, M, N, K, parts, in_heads, heads);                                                \
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
