// cuda::atomic and cuda::atomic_ref: orders, scopes, types, wait and notify.
#include <cuda/atomic>

#include "check.h"

template <class T>
__device__ T cell;

template <class T, cuda::thread_scope scope, class Function>
__device__ void on_both(T start, T want, Function function) {
    __shared__ T held;
    __syncthreads();
    if (threadIdx.x == 0) held = cell<T> = start;
    __syncthreads();
    function(cuda::atomic_ref<T, scope>(held)), function(cuda::atomic_ref<T, scope>(cell<T>));
    __syncthreads();
    SAME(held, want);
    SAME(cell<T>, want);
}

template <class T, cuda::thread_scope scope>
__device__ void orders() {
    using namespace cuda;
    on_both<T, scope>(T(1), T(65), [](auto a) { a.fetch_add(T(1), memory_order_relaxed); });
    on_both<T, scope>(T(64), T(0), [](auto a) { a.fetch_sub(T(1), memory_order_acq_rel); });
    on_both<T, scope>(T(1), T(65), [](auto a) { a += T(1); });
    on_both<T, scope>(T(9), T(7), [](auto a) { a.store(T(7), memory_order_release); });
    on_both<T, scope>(T(9), T(7), [](auto a) { a.exchange(T(7), memory_order_acquire); });
    on_both<T, scope>(T(9), T(9), [](auto a) { SAME(a.load(memory_order_acquire), T(9)); });
    on_both<T, scope>(T(9), T(9), [](auto a) { SAME(a.load(), T(9)); });
    on_both<T, scope>(T(3), T(67), [](auto a) {
        T seen = a.load(memory_order_relaxed);
        while (!a.compare_exchange_weak(seen, T(seen + 1), memory_order_acq_rel, memory_order_relaxed)) {
        }
    });
    on_both<T, scope>(T(3), T(11), [](auto a) {
        T seen = T(3);
        a.compare_exchange_strong(seen, T(11));
        CHECK(seen == T(3) || seen == T(11));
    });
}

template <class T, cuda::thread_scope scope>
__device__ void integers() {
    orders<T, scope>();
    on_both<T, scope>(T(0), T(63), [](auto a) { a.fetch_or(T(threadIdx.x)); });
    on_both<T, scope>(T(127), T(64), [](auto a) { a.fetch_and(T(~threadIdx.x)); });
    on_both<T, scope>(T(1), T(1), [](auto a) { a.fetch_xor(T(threadIdx.x)); });
    on_both<T, scope>(T(5), T(63), [](auto a) { a.fetch_max(T(threadIdx.x)); });
    on_both<T, scope>(T(5), T(0), [](auto a) { a.fetch_min(T(threadIdx.x)); });
    on_both<T, scope>(T(0), T(64), [](auto a) { ++a; });
}

TEST(words, 1, 64) {
    integers<int, cuda::thread_scope_block>();
    integers<unsigned, cuda::thread_scope_device>();
    orders<float, cuda::thread_scope_device>();
}

TEST(long_words, 1, 64) {
    integers<long long, cuda::thread_scope_system>();
    integers<unsigned long long, cuda::thread_scope_block>();
    orders<double, cuda::thread_scope_system>();
}

TEST(short_words, 1, 64) {
    integers<unsigned short, cuda::thread_scope_device>();
    integers<signed char, cuda::thread_scope_block>();
}

struct Both {
    int a, b;
    __host__ __device__ bool operator==(const Both& o) const { return a == o.a && b == o.b; }
};

__device__ cuda::atomic<unsigned, cuda::thread_scope_device> gate;
__device__ cuda::atomic<Both> both;

TEST(objects, 4, 32, cooperative) {
    __shared__ cuda::atomic<int, cuda::thread_scope_block> held;
    __shared__ cuda::std::atomic_flag flag;
    if (threadIdx.x == 0) new (&held) cuda::atomic<int, cuda::thread_scope_block>(3), flag.clear();
    __syncthreads();
    held.fetch_add(2);
    __syncthreads();
    SAME(held.load(), 67);
    const int first = !flag.test_and_set(cuda::std::memory_order_acquire);
    SAME(__syncthreads_count(first), 1);
    if (threadIdx.x == 0) {  // every block waits for the last
        if (gate.fetch_add(1, cuda::memory_order_acq_rel) % 4 == 3) gate.notify_all();
        for (unsigned seen = gate.load(); seen % 4 != 0; seen = gate.load()) gate.wait(seen);
        SAME(gate.load() % 4, 0u);
    }
    Both seen = both.load();
    while (!both.compare_exchange_weak(seen, Both{seen.a + 1, seen.b - 1})) {
    }
    CHECK(seen.a + seen.b == 0);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_block);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
}
