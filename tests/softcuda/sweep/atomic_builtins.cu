// The compiler's own atomic functions: every operation with every order and scope, on words that it knows the place of or not.
#include "check.h"

// Thousands of operations: each function gathers what is wrong, and checks once.
#define EXPECT(got, want) wrong |= (got) != (want)

#define SCOPES(order, DO)                \
    DO(order, __NV_THREAD_SCOPE_BLOCK)   \
    DO(order, __NV_THREAD_SCOPE_CLUSTER) \
    DO(order, __NV_THREAD_SCOPE_DEVICE)  \
    DO(order, __NV_THREAD_SCOPE_SYSTEM)
#define ALL(DO)                     \
    SCOPES(__NV_ATOMIC_RELAXED, DO) \
    SCOPES(__NV_ATOMIC_CONSUME, DO) \
    SCOPES(__NV_ATOMIC_ACQUIRE, DO) \
    SCOPES(__NV_ATOMIC_RELEASE, DO) \
    SCOPES(__NV_ATOMIC_ACQ_REL, DO) \
    SCOPES(__NV_ATOMIC_SEQ_CST, DO)
#define LOADS(DO)                   \
    SCOPES(__NV_ATOMIC_RELAXED, DO) \
    SCOPES(__NV_ATOMIC_CONSUME, DO) \
    SCOPES(__NV_ATOMIC_ACQUIRE, DO) \
    SCOPES(__NV_ATOMIC_SEQ_CST, DO)
#define STORES(DO)                  \
    SCOPES(__NV_ATOMIC_RELAXED, DO) \
    SCOPES(__NV_ATOMIC_RELEASE, DO) \
    SCOPES(__NV_ATOMIC_SEQ_CST, DO)

template <class T>
__device__ __forceinline__ void moves(T* p) {
    bool wrong = false;
    T value = *p = 1;
#define ONE(order, scope) EXPECT(__nv_atomic_load_n(p, order, scope), value);
    LOADS(ONE)
#undef ONE
#define ONE(order, scope)                           \
    value = value + 1;                              \
    __nv_atomic_store_n(p, T(value), order, scope); \
    EXPECT(*(volatile T*)p, value);
    STORES(ONE)
#undef ONE
    CHECK(!wrong);
}

template <class T>
__device__ __forceinline__ void exchanges(T* p) {
    bool wrong = false;
    T value = *p = 1;
#define ONE(order, scope)                                                                                            \
    {                                                                                                                \
        EXPECT(__nv_atomic_exchange_n(p, T(value + 1), order, scope), value);                                        \
        T expected = value;                                                                                          \
        EXPECT(__nv_atomic_compare_exchange_n(p, &expected, T(9), false, order, __NV_ATOMIC_RELAXED, scope), false); \
        EXPECT(expected, T(value + 1));                                                                              \
        EXPECT(__nv_atomic_compare_exchange_n(p, &expected, T(value + 2), false, order, __NV_ATOMIC_RELAXED, scope), \
               true);                                                                                                \
        value = value + 2;                                                                                           \
    }
    ALL(ONE)
#undef ONE
    CHECK(!wrong);
}

template <class T>
__device__ __forceinline__ void sums(T* p) {
    bool wrong = false;
    T value = *p = 1;
#define ONE(order, scope)                                               \
    EXPECT(__nv_atomic_fetch_add(p, T(5), order, scope), value);        \
    EXPECT(__nv_atomic_fetch_sub(p, T(2), order, scope), T(value + 5)); \
    __nv_atomic_add(p, T(3), order, scope);                             \
    __nv_atomic_sub(p, T(4), order, scope);                             \
    value = value + 2;
    ALL(ONE)
#undef ONE
    EXPECT(*p, value);
    CHECK(!wrong);
}

template <class T>
__device__ __forceinline__ void extremes(T* p) {
    bool wrong = false;
#define ONE(order, scope)                                       \
    *p = 5;                                                     \
    EXPECT(__nv_atomic_fetch_min(p, T(3), order, scope), T(5)); \
    EXPECT(__nv_atomic_fetch_max(p, T(8), order, scope), T(3)); \
    __nv_atomic_min(p, T(7), order, scope);                     \
    __nv_atomic_max(p, T(9), order, scope);                     \
    EXPECT(*p, T(9));
    ALL(ONE)
#undef ONE
    CHECK(!wrong);
}

template <class T>
__device__ __forceinline__ void bits(T* p) {
    bool wrong = false;
#define ONE(order, scope)                                                 \
    *p = 0b1100;                                                          \
    EXPECT(__nv_atomic_fetch_and(p, T(0b0110), order, scope), T(0b1100)); \
    EXPECT(__nv_atomic_fetch_or(p, T(0b0011), order, scope), T(0b0100));  \
    EXPECT(__nv_atomic_fetch_xor(p, T(0b1010), order, scope), T(0b0111)); \
    __nv_atomic_and(p, T(0b1001), order, scope);                          \
    __nv_atomic_or(p, T(0b0100), order, scope);                           \
    __nv_atomic_xor(p, T(0b1000), order, scope);                          \
    EXPECT(*p, T(0b0101));
    ALL(ONE)
#undef ONE
    CHECK(!wrong);
}

__device__ alignas(16) unsigned char device_word[16];

#define EVERYWHERE(type, ...)                                    \
    {                                                            \
        __shared__ alignas(16) unsigned char block_word[16];     \
        __VA_ARGS__(reinterpret_cast<type*>(device_word));       \
        __VA_ARGS__(reinterpret_cast<type*>(block_word));        \
        __VA_ARGS__(hide(reinterpret_cast<type*>(device_word))); \
    }

TEST(loads_and_stores, 1, 1) {
    EVERYWHERE(unsigned char, moves);
    EVERYWHERE(unsigned short, moves);
    EVERYWHERE(unsigned, moves);
    EVERYWHERE(unsigned long long, moves);
}

TEST(exchanges_of_words, 1, 1) {
    EVERYWHERE(unsigned, exchanges);
    EVERYWHERE(unsigned long long, exchanges);
}

TEST(sums_of_integers, 1, 1) {
    EVERYWHERE(int, sums);
    EVERYWHERE(unsigned, sums);
    EVERYWHERE(unsigned long long, sums);
}

TEST(sums_of_floats, 1, 1) {
    EVERYWHERE(float, sums);
    EVERYWHERE(double, sums);
}

TEST(extremes_of_integers, 1, 1) {
    EVERYWHERE(int, extremes);
    EVERYWHERE(unsigned, extremes);
    EVERYWHERE(long long, extremes);
    EVERYWHERE(unsigned long long, extremes);
}

TEST(bits_of_integers, 1, 1) {
    EVERYWHERE(unsigned, bits);
    EVERYWHERE(unsigned long long, bits);
}

TEST(fences, 1, 32) {
#define ONE(order, scope) __nv_atomic_thread_fence(order, scope);
    SCOPES(__NV_ATOMIC_ACQUIRE, ONE)
    SCOPES(__NV_ATOMIC_RELEASE, ONE)
    SCOPES(__NV_ATOMIC_ACQ_REL, ONE)
    SCOPES(__NV_ATOMIC_SEQ_CST, ONE)
#undef ONE
    CHECK(true);
}

// Exchanges only: of a store of 128 bits, 13.0 makes what its own assembler refuses (st.acquire).
TEST(quads, 1, 1, since = 90) {
#if __CUDA_ARCH__ >= 900
    EVERYWHERE(unsigned __int128, exchanges);
#endif
}
