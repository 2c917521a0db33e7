// How kernels are launched and what they are given: bounds, clusters, arguments of every size, printf and assert.
#ifndef __CUDACC_RTC__
#include <cassert>
#include <cstdio>
#endif

#include "check.h"

struct Eight {
    int a;
    float b;
};
struct alignas(16) Sixteen {
    float x, y, z, w;
};

TEST_TAKING(scalars, 1, 32, args = "?bhiqBHIQfd" : 1, -2, -300, -70000, -5000000000, 200, 60000, 4000000000,
            10000000000, 1.5, 0.1)
(bool a, signed char b, short c, int d, long long e, unsigned char f, unsigned short g, unsigned h,
 unsigned long long i, float j, double k) {
    SAME(a, true);
    SAME(b, -2);
    SAME(c, -300);
    SAME(d, -70000);
    SAME(e, -5000000000ll);
    SAME(f, 200);
    SAME(g, 60000);
    SAME(h, 4000000000u);
    SAME(i, 10000000000ull);
    SAME(j, 1.5f);
    SAME(k, 0.1);
}

TEST_TAKING(structures, 1, 32, args = "i f b 7x 4f" : 7, 2.5, 9, 1.0, 2.0, 3.0, 4.0)
(Eight e, char c, const __grid_constant__ Sixteen s) {
    SAME(e.a, 7);
    SAME(e.b, 2.5f);
    SAME(c, 9);
    const Sixteen* at = hide(&s);
    SAME(at->x + at->w, 5.0f);
    e.a += threadIdx.x;
    int* writable = hide(&e.a);
    SAME(*writable, 7 + (int)threadIdx.x);
    const float* elements = &s.x;
    SAME(elements[hide(threadIdx.x % 4)], threadIdx.x % 4 + 1.0f);
}

extern "C" __global__ void __launch_bounds__(128, 4) bounded_kernel(int* out) { out[threadIdx.x] = 1; }
extern "C" __global__ void __maxnreg__(32) registers_kernel(int* out) { out[threadIdx.x] = 2; }
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) clustered_kernel(int* out) { out[blockIdx.x] = 3; }
extern "C" __global__ void __block_size__((64, 1, 1), (2, 1, 1)) sized_kernel(int* out) { out[blockIdx.x] = 4; }
#endif

TEST(indices, 3, 40) {
    SAME(gridDim.x, 3u);
    SAME(gridDim.y * gridDim.z, 1u);
    SAME(blockDim.x, 40u);
    CHECK(blockIdx.x < 3 && threadIdx.x < 40 && threadIdx.y == 0 && threadIdx.z == 0);
}

TEST(printing, 1, 4) {
    SAME(printf("%d %s %5.2f %c %llx %p %%\n", (int)threadIdx.x, "text", 1.5, 'c', 1ull << 40, (void*)0), 6);
    SAME(printf("nothing\n"), 0);
#ifndef __CUDACC_RTC__
    assert(hide(threadIdx.x) < 4);
#endif
}

TEST(traps, 1, 32) {
    if (hide(threadIdx.x) > 40) __trap();
    if (hide(threadIdx.x) > 41) __brkpt();
    if (hide(threadIdx.x) > 42) asm volatile("exit;");
    __builtin_assume(threadIdx.x < 32);
    __prof_trigger(1);
    SAME(__builtin_expect(hide((long)threadIdx.x), 5l), (long)threadIdx.x);
    if (hide(threadIdx.x) > 43) __builtin_unreachable();
}

TEST(cluster_registers, 4, 32, cluster = 2, since = 90) {
#if __CUDA_ARCH__ >= 900
    unsigned rank, blocks, id, clusters;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(id));
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(clusters));
    SAME(rank, blockIdx.x % 2);
    SAME(blocks, 2u);
    SAME(id, blockIdx.x / 2);
    SAME(clusters, 2u);
    SAME(__clusterRelativeBlockIdx().x, blockIdx.x % 2);
    SAME(__clusterDim().x, 2u);
    SAME(__clusterIdx().x, blockIdx.x / 2);
    SAME(__clusterGridDimInClusters().x, 2u);
    SAME(__clusterSizeInBlocks(), 2u);
    __shared__ int held;
    held = blockIdx.x;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    int* other = (int*)__cluster_map_shared_rank(&held, rank ^ 1);
    SAME(*other, (int)blockIdx.x ^ 1);
    SAME(__cluster_query_shared_rank(other), rank ^ 1);
    __cluster_barrier_arrive_relaxed();
    __cluster_barrier_wait();
#endif
}

TEST(dependent, 1, 32, since = 90) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    CHECK(true);
#endif
}
