// Atomic functions: every operation, type and scope, on global and shared memory.
#include "check.h"

__device__ unsigned long long words[64];

template <class T>
struct Cells {
    T *global, *shared;
};

template <class T>
__device__ Cells<T> cells(T start) {
    __shared__ unsigned long long held[64];
    Cells<T> both{reinterpret_cast<T*>(words), reinterpret_cast<T*>(held)};
    __syncthreads();
    if (threadIdx.x < 16) both.global[threadIdx.x] = both.shared[threadIdx.x] = start;
    __syncthreads();
    return both;
}

// 64 threads on 8 cells: thread i adds i.
#define TOTAL(function, T, start, operand, expected)      \
    {                                                     \
        auto [global, shared] = cells<T>(start);          \
        function(&global[threadIdx.x % 8], (T)(operand)); \
        function(&shared[threadIdx.x % 8], (T)(operand)); \
        __syncthreads();                                  \
        const unsigned cell = threadIdx.x % 8;            \
        SAME(global[cell], (T)(expected));                \
        SAME(shared[cell], (T)(expected));                \
    }
#define SCOPES(function, ...)            \
    TOTAL(function, __VA_ARGS__)         \
    TOTAL(function##_block, __VA_ARGS__) \
    TOTAL(function##_system, __VA_ARGS__);

#define SUM (8 * cell + 8 * 28)  // cell, cell + 8, … cell + 56

TEST(sums, 1, 64) {
    SCOPES(atomicAdd, int, -5, threadIdx.x, (int)SUM - 5);
    SCOPES(atomicAdd, unsigned, 5, threadIdx.x, SUM + 5);
    SCOPES(atomicAdd, unsigned long long, 1ull << 40, threadIdx.x, (1ull << 40) + SUM);
    SCOPES(atomicAdd, float, 0.5f, threadIdx.x, SUM + 0.5f);
    SCOPES(atomicAdd, double, 0.5, threadIdx.x, SUM + 0.5);
    SCOPES(atomicSub, int, 5, threadIdx.x, 5 - (int)SUM);
    SCOPES(atomicSub, unsigned, 5, threadIdx.x, 5 - SUM);
}

TEST(extremes, 1, 64) {
    SCOPES(atomicMin, int, 40, (int)threadIdx.x - 32, (int)cell - 32);
    SCOPES(atomicMin, unsigned, 40, threadIdx.x + 3, cell + 3);
    SCOPES(atomicMin, long long, 40, (long long)threadIdx.x - 32, (long long)cell - 32);
    SCOPES(atomicMin, unsigned long long, 1ull << 40, threadIdx.x + 3, cell + 3);
    SCOPES(atomicMax, int, -40, (int)threadIdx.x - 64, (int)cell - 8 > -40 ? (int)cell - 8 : -40);
    SCOPES(atomicMax, unsigned, 4, threadIdx.x, cell + 56);
    SCOPES(atomicMax, long long, -400, (long long)threadIdx.x - 320, (long long)cell - 264);
    SCOPES(atomicMax, unsigned long long, 4, threadIdx.x, cell + 56);
}

TEST(bits, 1, 64) {
    SCOPES(atomicAnd, int, -1, ~(1 << threadIdx.x / 8), ~255);
    SCOPES(atomicAnd, unsigned, ~0u, ~(1u << threadIdx.x / 8), ~255u);
    SCOPES(atomicAnd, unsigned long long, ~0ull, ~(1ull << threadIdx.x), ~(0x0101010101010101ull << cell));
    SCOPES(atomicOr, int, 0, 1 << threadIdx.x / 8, 255);
    SCOPES(atomicOr, unsigned, 0, 1u << threadIdx.x / 8, 255u);
    SCOPES(atomicOr, unsigned long long, 0, 1ull << threadIdx.x, 0x0101010101010101ull << cell);
    SCOPES(atomicXor, int, 85, 1 << threadIdx.x / 8, 170);
    SCOPES(atomicXor, unsigned, 85, 1u << threadIdx.x / 8, 170u);
    SCOPES(atomicXor, unsigned long long, 0, 1ull << threadIdx.x, 0x0101010101010101ull << cell);
}

TEST(wrapping, 1, 64) {
    SCOPES(atomicInc, unsigned, 0, 5, 8 % 6);
    SCOPES(atomicDec, unsigned, 2, 5, 0);
    TOTAL(atomicExch, int, -1, threadIdx.x % 8, cell);
    TOTAL(atomicExch, unsigned, 1, threadIdx.x % 8, cell);
    TOTAL(atomicExch, unsigned long long, 1, threadIdx.x % 8, cell);
    TOTAL(atomicExch, float, 1, threadIdx.x % 8, cell);
    TOTAL(atomicExch_block, unsigned, 1, threadIdx.x % 8, cell);
    TOTAL(atomicExch_system, unsigned long long, 1, threadIdx.x % 8, cell);
}

// A product, through compare-and-swap.
template <class T, class Swap>
__device__ void product(Swap swap) {
    auto [global, shared] = cells<T>(T(1));
    for (T* cell : {&global[threadIdx.x % 8], &shared[threadIdx.x % 8]}) {
        T seen = *(volatile T*)cell, before;
        do before = seen, seen = swap(cell, before, T(before * 3));
        while (seen != before);
    }
    __syncthreads();
    SAME(global[threadIdx.x % 8], T(6561));
    SAME(shared[threadIdx.x % 8], T(6561));
}

TEST(swaps, 1, 64) {
    product<int>([](int* p, int a, int b) { return atomicCAS(p, a, b); });
    product<unsigned>([](unsigned* p, unsigned a, unsigned b) { return atomicCAS_block(p, a, b); });
    product<unsigned long long>([](auto* p, unsigned long long a, unsigned long long b) { return atomicCAS(p, a, b); });
    product<unsigned long long>(
        [](auto* p, unsigned long long a, unsigned long long b) { return atomicCAS_system(p, a, b); });
    product<unsigned short>([](unsigned short* p, unsigned short a, unsigned short b) { return atomicCAS(p, a, b); });
}

// What the old value was: each thread draws a different ticket.
TEST(tickets, 2, 64) {
    __shared__ unsigned next, drawn[2];
    if (threadIdx.x == 0) next = drawn[0] = drawn[1] = 0;
    __syncthreads();
    const unsigned ticket = atomicAdd(&next, 1u);
    atomicOr(&drawn[ticket / 32], 1u << ticket % 32);
    __syncthreads();
    SAME(drawn[0] & drawn[1], 0xffffffffu);
    __threadfence();
    __threadfence_block();
    __threadfence_system();
}

TEST(vectors, 1, 64, since = 90) {
#if __CUDA_ARCH__ >= 900
    __shared__ float4* four;
    if (threadIdx.x == 0) {
        four = reinterpret_cast<float4*>(words);
        four[0] = make_float4(0, 0, 0, 0), four[1] = make_float4(0, 0, 0, 0);
    }
    __syncthreads();
    const float4 old = atomicAdd(&four[0], make_float4(1, 2, 3, 4));
    CHECK(old.y <= 126 && old.w <= 252);
    atomicAdd(reinterpret_cast<float2*>(&four[1]), make_float2(1, -1));
    __syncthreads();
    SAME(four[0].x, 64.0f);
    SAME(four[0].w, 256.0f);
    SAME(four[1].y, -64.0f);
#endif
}

TEST(wide_swap, 1, 64, since = 90) {
#if __CUDA_ARCH__ >= 900
    using Wide = unsigned __int128;
    __shared__ Wide* cell;
    if (threadIdx.x == 0) cell = reinterpret_cast<Wide*>(words), *cell = 1;
    __syncthreads();
    Wide seen = *cell, before;
    do before = seen, seen = atomicCAS(cell, before, before + ((Wide)1 << 70) + 1);
    while (seen != before);
    __syncthreads();
    SAME(*cell, ((Wide)64 << 70) + 65);
    __syncthreads();
    const Wide old = atomicExch(cell, (Wide)threadIdx.x << 90);
    CHECK(old == ((Wide)64 << 70) + 65 || (unsigned)(old >> 90) < 64);
#endif
}

TEST(builtin, 1, 64) {
    auto [global, shared] = cells<unsigned>(0);
    __nv_atomic_fetch_add(&global[0], 1u, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_or(&shared[0], 1u << threadIdx.x / 2, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK);
    __syncthreads();
    unsigned seen;
    __nv_atomic_load(&global[0], &seen, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_SYSTEM);
    SAME(seen, 64u);
    SAME(shared[0], 0xffffffffu);
    __syncthreads();
    __nv_atomic_store_n(&global[0], 7u, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
    SAME(__nv_atomic_load_n(&global[0], __NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE), 7u);
}
