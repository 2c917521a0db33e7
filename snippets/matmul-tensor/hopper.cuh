// Hopper's asynchronous units: the copy engine for tiles (TMA), barriers in shared memory that count its bytes, and products of
// warpgroups (wgmma). Each function is one instruction of PTX. Needs sm_90a.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifndef WGMMA_TYPE  // bf16: 32 bytes of each row, and no operand transposed
#define ELEMENT 2   // bytes of an element of A and B
#define OUT 0       // C is bf16 (0), fp16 (1) or fp32 (2)
#define WGMMA_TYPE "k16.f32.bf16.bf16"
#define WGMMA_FLAGS ", 1, 1, 0, 0"
#endif
typedef __nv_bfloat16 bf16;
typedef unsigned long long u64;
__constant__ CUtensorMap maps[3];  // of A, B and C; the host writes them
extern __shared__ __align__(1024) unsigned char memory[];

__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// --8<-- [start:barriers]
__device__ __forceinline__ void barrier_init(unsigned at, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_init_done() {  // the copy engine and other blocks see the barriers, too
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
}
__device__ __forceinline__ void barrier_expect(unsigned at, int bytes) {  // arrives; so many bytes are still to come
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(unsigned at) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
}
__device__ __forceinline__ void barrier_arrive_at(unsigned at,
                                                  int rank) {  // at the same barrier of a block of the cluster
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(at),
        "r"(rank)
        : "memory");
}
__device__ __forceinline__ void barrier_wait(unsigned at,
                                             int phase) {  // until this phase is over; phases alternate 0, 1
    asm volatile(
        "{\n.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(at),
        "r"(phase)
        : "memory");
}
// --8<-- [end:barriers]
// --8<-- [start:tma]
// A box of the matrix behind `map`, from column x and row y on, to shared memory; the barrier counts its bytes.
// What lies outside of the matrix arrives as zeros.
__device__ __forceinline__ void tile_load(unsigned to, const CUtensorMap* map, int x, int y, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            to),
        "l"(map), "r"(x), "r"(y), "r"(barrier)
        : "memory");
}
// The same to the same place in every block of the cluster that `mask` names.
__device__ __forceinline__ void tile_load_multicast(unsigned to, const CUtensorMap* map, int x, int y, unsigned barrier,
                                                    unsigned short mask) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(mask)
        : "memory");
}
// From shared memory to the matrix; what lies outside of it is not written.
__device__ __forceinline__ void tile_store(const CUtensorMap* map, int x, int y, unsigned from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x),
                 "r"(y), "r"(from)
                 : "memory");
}
// --8<-- [end:tma]
// --8<-- [start:wgmma]
// Where an operand lies: rows of 128 bytes, swizzled within 128 bytes, so that eight rows are 1024 bytes. Counts in 16 bytes.
__device__ __forceinline__ u64 descriptor(unsigned at) {
    return (at & 0x3ffff) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING>  // until at most so many groups are under way
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
template <int COUNT>  // the compiler must not move what reads sums in front of the wait
__device__ __forceinline__ void wgmma_done(float (&d)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) asm volatile("" : "+f"(d[i])::"memory");
}
// --8<-- [end:wgmma]

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(d, i) FOUR(d, i), FOUR(d, i + 4), FOUR(d, i + 8), FOUR(d, i + 12)
// d = a bᵀ, or d += a bᵀ if `add`: 64 x 128 sums
__device__ __forceinline__ void wgmma(float (&d)[64], u64 a, u64 b, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128" WGMMA_TYPE
        " "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, p" WGMMA_FLAGS ";\n}"
        : SIXTEEN(d, 0), SIXTEEN(d, 16), SIXTEEN(d, 32), SIXTEEN(d, 48)
        : "l"(a), "l"(b), "r"(add));
}
// d = a bᵀ, or d += a bᵀ if `add`: 64 x 256 sums
__device__ __forceinline__ void wgmma(float (&d)[128], u64 a, u64 b, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256" WGMMA_TYPE
        " "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
        "%128, %129, p" WGMMA_FLAGS ";\n}"
        : SIXTEEN(d, 0), SIXTEEN(d, 16), SIXTEEN(d, 32), SIXTEEN(d, 48), SIXTEEN(d, 64), SIXTEEN(d, 80), SIXTEEN(d, 96),
          SIXTEEN(d, 112)
        : "l"(a), "l"(b), "r"(add));
}

__device__ __forceinline__ unsigned pack(float a, float b) {
#if OUT == 1
    const __half2 pair = __floats2half2_rn(a, b);
#else
    const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
#endif
    return *(const unsigned*)&pair;
}
// --8<-- [start:store]
// The sums of a warpgroup, 64 rows and 2 COUNT columns of C from (row, column) on. A thread has neighbours in pairs, in two rows.
template <int COUNT>
__device__ __forceinline__ void store_sums(bf16* C, int M, int N, int row, int column, const float (&d)[COUNT]) {
    const int r = row + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
#pragma unroll
    for (int j = 0; j < COUNT / 4; j++) {
        const int c = column + 8 * j + threadIdx.x % 4 * 2;
        if (c >= N) continue;
        if (r < M) *(__nv_bfloat162*)(C + (size_t)r * N + c) = __floats2bfloat162_rn(d[4 * j], d[4 * j + 1]);
        if (r + 8 < M)
            *(__nv_bfloat162*)(C + (size_t)(r + 8) * N + c) = __floats2bfloat162_rn(d[4 * j + 2], d[4 * j + 3]);
    }
}
// --8<-- [end:store]

// --8<-- [start:epilogue]
__device__ __forceinline__ void stmatrix(unsigned to, unsigned a, unsigned b, unsigned c,
                                         unsigned d) {  // ldmatrix back
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b),
                 "r"(c), "r"(d)
                 : "memory");
}
// The same as store_sums through 16 KiB of the warpgroup's own in shared memory; the copies go on after the function has ended.
// `map` has boxes of 64 x 64 elements of 2 bytes.
template <int COUNT>
__device__ __forceinline__ void copy_sums(const CUtensorMap* map, unsigned mine, int row, int column,
                                          const float (&d)[COUNT]) {
    const int group = threadIdx.x / 128, thread = threadIdx.x % 128, lane = thread % 32;
    const int r = thread / 32 * 16 + lane / 8 % 2 * 8 + lane % 8;
#pragma unroll
    for (int first = 0; first < COUNT / 32; first += 2) {  // two boxes of 64 columns
        if (thread == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");  // the copies before have read what we overwrite now
#pragma unroll
        for (int j = first * 8; j < first * 8 + 16; j += 2)  // 16 bytes of a row at a time, swizzled as the map has it
            stmatrix(mine + (j / 8 - first) * 8192 + r * 128 + ((j % 8 + lane / 16) ^ r % 8) * 16,
                     pack(d[4 * j], d[4 * j + 1]), pack(d[4 * j + 2], d[4 * j + 3]), pack(d[4 * j + 4], d[4 * j + 5]),
                     pack(d[4 * j + 6], d[4 * j + 7]));
        // --8<-- [start:v12_copy]
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the copy engine sees what we wrote
        asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");
        if (thread == 0) {
            tile_store(map, column + first * 64, row, mine);
            tile_store(map, column + first * 64 + 64, row, mine + 8192);
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
        // --8<-- [end:v12_copy]
    }
}
// --8<-- [end:epilogue]
__device__ __forceinline__ void copies_done() {  // of this thread: C is written
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
