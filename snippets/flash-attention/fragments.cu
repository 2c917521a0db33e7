// What the kernels on tensor cores share: rows of halves in shared memory, how they get there, and the instructions.
//
// HEAD halves are a row of Q, K, V or O; a block has WARPS warps.
#include <cuda_fp16.h>

#ifndef HEAD
#define HEAD 64
#endif
#ifndef WARPS
#define WARPS 4
#endif
#ifndef SWIZZLE
#define SWIZZLE 1  // 0: chunks lie in order, and ldmatrix meets bank conflicts
#endif

constexpr int THREADS = 32 * WARPS;
constexpr int ROW_BYTES = 2 * HEAD;
constexpr int CHUNKS = ROW_BYTES / 16;  // ldmatrix and cp.async move 16 bytes, 8 halves
constexpr int PASS = THREADS / CHUNKS;  // rows that the block's threads copy at once, a chunk each
static_assert(PASS % 8 == 0, "a thread's rows are alike modulo 8, so that its chunk has the same place in each");

// --8<-- [start:place]
// Chunk c of a row lies at place c ^ (row % 8). ldmatrix reads the same chunk of eight rows in a row: their places are
// all different, and so are their banks.
__device__ unsigned place(int row, int chunk) { return row * ROW_BYTES + (SWIZZLE ? chunk ^ row % 8 : chunk) * 16; }
// --8<-- [end:place]

// --8<-- [start:fetch]
// Starts the copy of COUNT rows, of which `left` exist; the others arrive as zeros. `to` and `from` are the thread's own:
// those of its chunk in its first row.
template <int COUNT>
__device__ void fetch(unsigned to, const __half* from, int left) {
#pragma unroll
    for (int row = 0; row < COUNT; row += PASS)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + row * ROW_BYTES),
                     "l"(from + row * HEAD), "r"(row < left ? 16 : 0));
}
__device__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int PENDING>
__device__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING));
}
// --8<-- [end:fetch]

// --8<-- [start:instructions]
// Four tiles of 8 × 8 halves; lane l says where row l % 8 of tile l / 8 lies.
__device__ void ldmatrix(unsigned (&to)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at));
}
__device__ void ldmatrix_trans(unsigned (&to)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at));
}
// d += a b, of 16 × 16 and 16 × 8. A lane has d[0], d[1] in row lane / 4 and d[2], d[3] eight rows below.
__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ unsigned pack(float low, float high) {
    __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<unsigned*>(&pair);
}
// --8<-- [end:instructions]
