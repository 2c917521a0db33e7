// Loads and stores with a hint for the caches, which change no value; prefetches; clocks and sleep.
#include "check.h"

__device__ alignas(16) unsigned char room[64 * 16];

template <class T>
__device__ void hints(T x) {
    T* cells = reinterpret_cast<T*>(room);
    T* mine = &cells[threadIdx.x];
    __syncthreads();
    *mine = x;
    __syncthreads();
    SAME(__ldg(mine), x);
    SAME(__ldca(mine), x);
    SAME(__ldcg(mine), x);
    SAME(__ldcs(mine), x);
    SAME(__ldcv(mine), x);
    SAME(__ldlu(mine), x);
    const T y = cells[63 - threadIdx.x];
    __syncthreads();
    __stcg(mine, y);
    SAME(__ldcg(mine), y);
    __stcs(mine, x);
    SAME(__ldcs(mine), x);
    __stwb(mine, y);
    SAME(__ldcv(mine), y);
    __stwt(mine, x);
    SAME(*mine, x);
}

TEST(hints_by_type, 1, 64) {
    const int i = hide((int)threadIdx.x);
    hints((char)i);
    hints((signed char)-i);
    hints((unsigned char)i);
    hints((short)(i * 300));
    hints((unsigned short)(i * 500));
    hints(i * 70000);
    hints(i * 70000u);
    hints((long)i << 33);
    hints((unsigned long)i << 33);
    hints((long long)i << 33);
    hints((unsigned long long)i << 33);
    hints(i * 0.5f);
    hints(i * 0.25);
}

template <class Vector>
__device__ void vector_hints(unsigned i) {
    Vector v;
    for (unsigned k = 0; k < sizeof v; ++k) reinterpret_cast<unsigned char*>(&v)[k] = (unsigned char)(i * 16 + k);
    hints(v);
}

TEST(hints_by_vector, 1, 64) {
    const unsigned i = hide(threadIdx.x);
    vector_hints<char2>(i);
    vector_hints<char4>(i);
    vector_hints<short2>(i);
    vector_hints<short4>(i);
    vector_hints<int2>(i);
    vector_hints<int4>(i);
    vector_hints<longlong2>(i);
    vector_hints<uchar2>(i);
    vector_hints<uchar4>(i);
    vector_hints<ushort2>(i);
    vector_hints<ushort4>(i);
    vector_hints<uint2>(i);
    vector_hints<uint4>(i);
    vector_hints<ulonglong2>(i);
    vector_hints<float2>(i);
    vector_hints<float4>(i);
    vector_hints<double2>(i);
}

TEST(assembly, 1, 32) {
    int* cells = reinterpret_cast<int*>(room);
    cells[threadIdx.x] = threadIdx.x;
    __syncthreads();
    const int* mine = cells + threadIdx.x;
    int x;
    asm volatile("prefetch.global.L1 [%0];" ::"l"(mine));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(mine));
    asm volatile("prefetchu.L1 [%0];" ::"l"(mine));
    asm volatile("ld.global.nc.L1::no_allocate.s32 %0, [%1];" : "=r"(x) : "l"(mine));
    SAME(x, (int)threadIdx.x);
    asm volatile("ld.global.L1::evict_last.s32 %0, [%1];" : "=r"(x) : "l"(mine));
    SAME(x, (int)threadIdx.x);
    asm volatile("st.global.L1::no_allocate.s32 [%0], %1;" ::"l"(mine), "r"(x + 1));
    SAME(*(volatile int*)mine, (int)threadIdx.x + 1);
#if __CUDA_ARCH__ >= 800
    asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(mine));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(room));
    asm volatile("ld.global.L2::128B.s32 %0, [%1];" : "=r"(x) : "l"(mine));
    SAME(x, (int)threadIdx.x + 1);
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.s32 %0, [%1], %2;" : "=r"(x) : "l"(mine), "l"(policy));
    SAME(x, (int)threadIdx.x + 1);
    asm volatile("st.global.L2::cache_hint.s32 [%0], %1, %2;" ::"l"(mine), "r"(9), "l"(policy));
    SAME(*(volatile int*)mine, 9);
#endif
}

TEST(clocks, 1, 64) {
    const long long begin = clock64();
    const clock_t short_begin = clock();
    unsigned long long nanoseconds, later;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    __nanosleep(1000);
    __nanosleep(hide(20u));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
    CHECK(later >= nanoseconds);
    CHECK(clock64() > begin);
    CHECK(clock() - short_begin > 0);
    unsigned low, high;
    asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(low));
    asm volatile("mov.u32 %0, %%globaltimer_hi;" : "=r"(high));
    CHECK(low | high);
    asm volatile("mov.u32 %0, %%clock_hi;" : "=r"(high));
    unsigned sm, sms, warps, grid;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u32 %0, %%nsmid;" : "=r"(sms));
    asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(warps));
    asm volatile("mov.u32 %0, %%gridid;" : "=r"(grid));
    CHECK(sm < sms && warps >= 2);
}
