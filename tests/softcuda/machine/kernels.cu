// Kernels that exercise the scheduler, memory and faults of the machine.  test_machine.py says what each must do.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <cassert>
#include <cstdio>
#include <cuda/barrier>

namespace cg = cooperative_groups;
#define KERNEL extern "C" __global__ void

// --- loads of neighbouring words

__device__ int place(int pattern, int t) {
    switch (pattern) {
        case 0: return t;
        case 1: return 7;
        case 2: return 31 - t;
        case 3: return t % 16 + 20 * (t / 16);
        case 4: return t / 8;
        case 5: return t * 33 % 97;
        case 6: return 127 - 4 - t % 3;  // up to the last element
        default: return t < 16 ? t : 0;
    }
}

// Several loads with one base, which then changes; `mask`: the lanes that take part; the others go another way.
KERNEL close_loads(const int* in, int pattern, unsigned mask, int* out) {
    __shared__ int tile[128];
    int t = threadIdx.x, lane = t % 32, sum = 0;
    for (int i = t; i < 128; i += blockDim.x) tile[i] = in[i];
    __syncthreads();
    if (mask >> lane & 1) {
        const int *p = in + place(pattern, lane), *q = tile + place(pattern, lane);
        for (int k = 0; k < 3; ++k) {
            sum = sum * 3 + p[0] + 5 * p[4] - 7 * p[1] + 11 * q[0] - 13 * q[4] + 17 * q[2];
            p = in + place(pattern + k, 31 - lane), q = tile + place(pattern + k, 31 - lane);
        }
    } else {
        sum = tile[lane] - tile[lane + 1];
    }
    __syncthreads();
    out[t] = sum + tile[lane] - in[lane + 2];
}

// --- divergence

KERNEL nested(int* out) {
    int t = threadIdx.x, a = 0;
    if (t & 1) {
        if (t & 2)
            a = t * 3;
        else
            a = t * 5;
        if (t > 16) a += 100;
    } else {
        for (int i = 0; i < t; i++) {
            if (i == 7) continue;
            if (i > 20) break;
            a += i;
        }
    }
    switch (t % 5) {
        case 0: a += 1000; break;
        case 1: a ^= 7; break;
        case 3: a *= 2;  // falls through
        case 4: a -= 1;
    }
    out[t] = a;
}

KERNEL collatz(int* out) {  // a loop whose trip count differs from lane to lane
    unsigned n = threadIdx.x + 1;
    int steps = 0;
    while (n != 1) n = n & 1 ? 3 * n + 1 : n / 2, steps++;
    out[threadIdx.x] = steps;
}

KERNEL shuffle_in_both_arms(int* out) {
    int t = threadIdx.x, v;
    if (t < 10)
        v = __shfl_sync(0xffffffffu, t * 10, (t + 1) & 31) + 1;
    else
        v = __shfl_sync(0xffffffffu, t * 10, (t + 1) & 31) + 2;
    out[t] = v;
}

KERNEL ballots_of_halves(unsigned* out) {
    unsigned half = threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u;
    out[threadIdx.x] = __ballot_sync(half, threadIdx.x % 3 == 0);
}

KERNEL shuffle_after_exit(int* out) {
    if (threadIdx.x >= 20) return;
    out[threadIdx.x] = __shfl_down_sync(0xffffffffu, threadIdx.x, 1);
}

KERNEL warp_sums(int* out) {
    int t = threadIdx.x;
    out[t] = __reduce_add_sync(~0u, t) + __popc(__ballot_sync(~0u, t % 3 == 0)) * 10000 +
             __popc(__match_any_sync(~0u, t % 4)) * 1000000;
}

KERNEL tiles(int* out) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int v = threadIdx.x;
    for (int k = 4; k; k >>= 1) v += tile.shfl_xor(v, k);
    out[threadIdx.x] = v;
    if (threadIdx.x % 3 == 0) {
        auto some = cg::coalesced_threads();
        out[threadIdx.x] += 1000 * some.thread_rank();
        some.sync();
    }
}

// --- waiting for each other

KERNEL lock_among_lanes(int* sum, int* lock) {
    while (atomicCAS(lock, 0, 1) != 0);
    *sum += threadIdx.x;
    __threadfence();
    atomicExch(lock, 0);
}

KERNEL handshake(volatile int* flags, int* out) {  // two lanes of one warp
    if (threadIdx.x == 0) {
        while (flags[0] == 0);
        flags[1] = flags[0] + 1;
    } else if (threadIdx.x == 1) {
        flags[0] = 5;
        while (flags[1] == 0);
        *out = flags[1];
    }
}

KERNEL first_waits_for_last(volatile int* flag, volatile int* data, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        while (*flag == 0);
        __threadfence();
        *out = *data;
    } else if (blockIdx.x == gridDim.x - 1) {
        *data = 42;
        __threadfence();
        *flag = 1;
    }
}

KERNEL rotate_grid(int* x, int n) {
    auto grid = cg::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = i;
    grid.sync();
    int v = x[(i + 37) % n];
    grid.sync();
    x[i] = v;
}

__device__ unsigned ticket = 0;
KERNEL last_block_sums(const float* in, float* partial, float* out) {
    __shared__ float s[128];
    __shared__ bool last;
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 128 + t];
    __syncthreads();
    for (int k = 64; k; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++) sum += ((volatile float*)partial)[b];
        *out = sum;
    }
}

KERNEL barrier_after_exit(int* out) {
    if (threadIdx.x < 64) return;
    __syncthreads();
    out[threadIdx.x] = 1;
}

KERNEL barrier_in_both_arms(int* out) {
    __shared__ int s[64];
    if (threadIdx.x & 1) {
        s[threadIdx.x] = 1;
        __syncthreads();
    } else {
        s[threadIdx.x] = 2;
        __syncthreads();
    }
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}

KERNEL barrier_votes(int* out) {
    int t = threadIdx.x;
    out[t] = __syncthreads_count(t & 1) + 1000 * __syncthreads_and(t < 100) + 2000 * __syncthreads_or(t == 5);
}

KERNEL named_barrier(int* out) {
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t < 64) {
        s[t] = t;
        asm volatile("bar.arrive 2, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 128;" ::: "memory");
        out[t - 64] = s[t - 64] * 2;
    }
}

KERNEL deadlock(int* out) {
    if (threadIdx.x < 32)
        __syncthreads();
    else
        asm volatile("bar.sync 1, 128;");
    *out = 1;
}

KERNEL endless(volatile int* out) {
    while (out[0] == 0) out[1] += 1;
}

// --- calls

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ int plus_one(int a) { return a + 1; }
__device__ __noinline__ int twice(int a) { return a * 2; }
typedef int (*Unary)(int);
__device__ Unary table[2] = {plus_one, twice};

KERNEL calls(int* out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12) * 1000 + table[threadIdx.x & 1](threadIdx.x); }

__device__ __noinline__ int forever(int n) { return forever(n + 1) + n; }
KERNEL overflow(int* out) { out[0] = forever(out[1]); }
KERNEL wild_call(int* out, long long target) { *out = ((Unary)target)(3); }

// --- memory

KERNEL copy(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

KERNEL dynamic_shared(int* out) {
    extern __shared__ int s[];
    __shared__ int fixed[32];
    int t = threadIdx.x;
    s[t] = t;
    fixed[t % 32] = 7;
    __syncthreads();
    out[t] = s[blockDim.x - 1 - t] + fixed[t % 32];
}

KERNEL histogram(unsigned* bins) {
    __shared__ unsigned s[16];
    if (threadIdx.x < 16) s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[(threadIdx.x * 7 + blockIdx.x) % 16], 1u);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

KERNEL float_atomics(float* sum) { atomicAdd(sum, 0.1f * threadIdx.x + blockIdx.x); }

__constant__ float weights[4] = {1, 2, 3, 4};
__managed__ int offset = 5;
KERNEL constants(float* out) { out[threadIdx.x] = weights[threadIdx.x & 3] + offset; }

KERNEL local_array(int* out, int k) {
    int a[20];
    for (int i = 0; i < 20; i++) a[i] = i * threadIdx.x;
    out[threadIdx.x] = a[(threadIdx.x + k) % 20];
}

KERNEL vectors(float4* out, const float4* in) {
    float4 v = in[threadIdx.x];
    v.x += 1;
    v.w *= 2;
    out[threadIdx.x] = v;
}

KERNEL generic_pointers(int* out) {
    __shared__ int s[32];
    int mine[2] = {int(threadIdx.x), 7};
    s[threadIdx.x] = 100 + threadIdx.x;
    int* where = threadIdx.x % 3 == 0   ? &s[threadIdx.x]
                 : threadIdx.x % 3 == 1 ? &mine[threadIdx.x & 1]
                                        : &out[threadIdx.x];
    asm volatile("" : "+l"(where));
    *where += 1000;
    out[threadIdx.x] = *where;
}

KERNEL clock_ticks(long long* out) {
    long long begin = clock64();
    for (int i = 0; i < 10; i++) ((volatile long long*)out)[1] = i;
    out[0] = clock64() - begin;
}

KERNEL device_heap(int* out) {
    int* p = (int*)malloc(16);
    *p = threadIdx.x;
    out[threadIdx.x] = *p + 1;
    free(p);
}

// --- words and faults

KERNEL prints(int n) { printf("hi %d %s %5.2f %lld %c%% %x\n", n, "abc", 1.5 * threadIdx.x, 1ll << 40, 'z', 255u); }
KERNEL asserts(int n) { assert(n < 5); }
KERNEL misaligned(char* out) { *(int*)(out + threadIdx.x * 4 + 1) = 1; }
KERNEL beyond_shared(int* out, int k) {
    __shared__ int s[32];
    s[threadIdx.x + k] = 1;
    out[threadIdx.x] = s[threadIdx.x];
}
KERNEL traps(int* out) {
    if (threadIdx.x == 9) __trap();
}
KERNEL writes_to(int* out) { out[threadIdx.x] = 1; }

// --- clusters

KERNEL neighbours(int* out) {  // reads a variable of the next block of the cluster
    auto cluster = cg::this_cluster();
    __shared__ int s;
    if (threadIdx.x == 0) s = blockIdx.x * 10;
    cluster.sync();
    int* next = cluster.map_shared_rank(&s, (cluster.block_rank() + 1) % cluster.num_blocks());
    if (threadIdx.x == 0) out[blockIdx.x] = *next;
    cluster.sync();
}

KERNEL early_leaver(int* out) {
    auto cluster = cg::this_cluster();
    if (cluster.block_rank() == 1) return;
    cluster.sync();
    out[blockIdx.x] = 1;
}

KERNEL copies_ahead(float* out, const float* in) {
    __shared__ float s[128];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, s, in, 512);
    cg::wait(block);
    out[threadIdx.x] = s[127 - threadIdx.x];
}

KERNEL vector_atomics(float4* sum) { atomicAdd(sum, make_float4(1, 2, 3, threadIdx.x)); }

KERNEL passes_through_an_mbarrier(int* out) {  // four phases; every thread arrives, then waits
    __shared__ int s[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    int t = threadIdx.x;
    if (t == 0) init(&barrier, 64);
    __syncthreads();
    int v = t;
    for (int phase = 0; phase < 4; phase++) {
        s[t] = v;
        barrier.arrive_and_wait();
        v = s[(t + 1) % 64];
        barrier.arrive_and_wait();
    }
    out[t] = v;
}

// What depends on the launch, on the block's row in the grid and on the block, used where warps part and where they meet.
KERNEL parting_and_meeting(int* out, int n, int k) {
    __shared__ int tile[96];
    int wide = n * 3 + k, of_row = blockIdx.y * wide + blockIdx.z * 7, t = threadIdx.x;
    int x = t * k + n;
    for (int i = 0; i < t / 32 + 2; ++i) x += of_row ^ i;
    tile[t] = x;
    __syncthreads();
    if (t % 3 == 0)
        x += tile[95 - t] * wide;
    else if (of_row & 1)
        x -= n / (k | 1);
    __syncthreads();
    if (t >= 32) x += __shfl_xor_sync(0xffffffffu, x, 1);
    x += tile[(t + blockIdx.x) % 96];
    out[((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * 96 + t] = x;
}

KERNEL writes_where_told(int* out, const int* at) { out[at[threadIdx.x]] = threadIdx.x; }
