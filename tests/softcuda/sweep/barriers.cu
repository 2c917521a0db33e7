// cuda::barrier, pipeline, latch and semaphore; named barriers; asynchronous copies to shared memory.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

#include "check.h"

using Barrier = cuda::barrier<cuda::thread_scope_block>;

TEST(phases, 1, 64) {
    __shared__ Barrier barrier;
    __shared__ int held[64];
    if (threadIdx.x == 0) init(&barrier, 64);
    __syncthreads();
    for (int round = 0; round < 3; ++round) {
        held[threadIdx.x] = round * 100 + threadIdx.x;
        barrier.arrive_and_wait();
        SAME(held[63 - threadIdx.x], round * 100 + 63 - (int)threadIdx.x);
        auto token = barrier.arrive();
        barrier.wait(cuda::std::move(token));
    }
    for (bool parity : {false, true}) {
        (void)barrier.arrive();
        barrier.wait_parity(parity);
    }
}

TEST(producer, 1, 64) {  // the second warp waits for the first
    __shared__ Barrier ready, taken;
    __shared__ int slot;
    if (threadIdx.x == 0) init(&ready, 33), init(&taken, 33), slot = 0;
    __syncthreads();
    for (int i = 0; i < 5; ++i) {
        if (threadIdx.x == 0) slot = i * 7, (void)ready.arrive();
        if (threadIdx.x >= 32) {
            ready.arrive_and_wait();
            SAME(slot, i * 7);
            (void)taken.arrive();
        }
        if (threadIdx.x == 0) taken.arrive_and_wait();
    }
}

TEST(dropping, 1, 64) {
    __shared__ Barrier barrier;
    if (threadIdx.x == 0) init(&barrier, 64);
    __syncthreads();
    if (threadIdx.x >= 40) {
        barrier.arrive_and_drop();
        return;
    }
    barrier.arrive_and_wait();
    barrier.arrive_and_wait();
    CHECK(true);
}

struct Count {
    int* rounds;
    __device__ void operator()() const { ++*rounds; }
};

TEST(completion, 1, 32) {
    using Counted = cuda::barrier<cuda::thread_scope_block, Count>;
    __shared__ alignas(Counted) unsigned char room[sizeof(Counted)];
    __shared__ int rounds;
    Counted& barrier = *reinterpret_cast<Counted*>(room);
    if (threadIdx.x == 0) rounds = 0, new (&barrier) Counted(32, Count{&rounds});
    __syncthreads();
    for (int i = 1; i < 4; ++i) {
        barrier.arrive_and_wait();
        SAME(rounds, i);
        __syncwarp();
    }
}

__device__ int from[512];
__device__ cuda::barrier<cuda::thread_scope_device> across;

TEST(scopes, 1, 32) {
    if (threadIdx.x == 0) init(&across, 32);
    __syncthreads();
    across.arrive_and_wait();
    CHECK(true);
}

TEST(roles, 1, 64) {
    constexpr unsigned stages = 2;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    __shared__ int held[stages][32];
    const auto block = cooperative_groups::this_thread_block();
    const auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipeline = cuda::make_pipeline(block, &state, role);
    for (int batch = 0; batch < 6; ++batch)
        if (role == cuda::pipeline_role::producer) {
            pipeline.producer_acquire();
            held[batch % stages][threadIdx.x] = batch * 1000 + threadIdx.x;
            pipeline.producer_commit();
        } else {
            pipeline.consumer_wait();
            SAME(held[batch % stages][63 - threadIdx.x], batch * 1000 + 63 - (int)threadIdx.x);
            pipeline.consumer_release();
        }
}

TEST(thread_pipeline, 1, 64) {
    __shared__ alignas(16) int held[64 * 4];
    auto pipeline = cuda::make_pipeline();
    for (int i = threadIdx.x; i < 512; i += 64) from[i] = 7 * i;
    __syncthreads();
    pipeline.producer_acquire();
    cuda::memcpy_async(&held[threadIdx.x * 4], &from[threadIdx.x * 4], cuda::aligned_size_t<16>(16), pipeline);
    pipeline.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipeline);
    SAME(held[threadIdx.x * 4 + 3], 7 * ((int)threadIdx.x * 4 + 3));
    pipeline.consumer_release();
}

TEST(primitives, 1, 64) {
    __shared__ alignas(16) int held[64 * 4];
    for (int i = threadIdx.x; i < 512; i += 64) from[i] = 9 * i;
    __syncthreads();
    __pipeline_memcpy_async(&held[threadIdx.x * 4], &from[threadIdx.x * 4], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    SAME(held[threadIdx.x * 4 + 2], 9 * ((int)threadIdx.x * 4 + 2));
    __pipeline_memcpy_async(&held[threadIdx.x * 4], &from[threadIdx.x * 4 + 4], 8,
                            4);  // four bytes of eight, zeros after
    __pipeline_commit();
    __pipeline_memcpy_async(&held[threadIdx.x * 4 + 2], &from[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    SAME(held[threadIdx.x * 4], 9 * ((int)threadIdx.x * 4 + 4));
    SAME(held[threadIdx.x * 4 + 1], 0);
    __pipeline_wait_prior(0);
    SAME(held[threadIdx.x * 4 + 2], 9 * (int)threadIdx.x);
}

TEST(latches, 1, 64) {
    __shared__ alignas(8) unsigned char room[sizeof(cuda::latch<cuda::thread_scope_block>)];
    __shared__ int count;
    auto& latch = *reinterpret_cast<cuda::latch<cuda::thread_scope_block>*>(room);
    if (threadIdx.x == 0) new (&latch) cuda::latch<cuda::thread_scope_block>(64), count = 0;
    __syncthreads();
    atomicAdd(&count, 1);
    latch.arrive_and_wait();
    SAME(*(volatile int*)&count, 64);
    CHECK(latch.try_wait());
}

TEST(semaphores, 1, 64) {
    __shared__ alignas(8) unsigned char room[sizeof(cuda::counting_semaphore<cuda::thread_scope_block, 8>)];
    __shared__ int inside, most;
    auto& semaphore = *reinterpret_cast<cuda::counting_semaphore<cuda::thread_scope_block, 8>*>(room);
    if (threadIdx.x == 0) new (&semaphore) cuda::counting_semaphore<cuda::thread_scope_block, 8>(3), inside = most = 0;
    __syncthreads();
    semaphore.acquire();
    atomicMax(&most, atomicAdd(&inside, 1) + 1);
    atomicSub(&inside, 1);
    semaphore.release();
    __syncthreads();
    CHECK(most >= 1 && most <= 3);
}

TEST(named, 1, 128) {
    __shared__ int held[2];
    if (threadIdx.x < 64) {
        if (threadIdx.x == 0) held[0] = 5;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        SAME(held[0], 5);
        asm volatile("bar.arrive %0, 128;" ::"r"(hide(2)) : "memory");
    } else {
        asm volatile("barrier.sync 3, 64;" ::: "memory");
        asm volatile("bar.sync 2, 128;" ::: "memory");
        SAME(held[0], 5);
    }
}
