// Copies to shared memory that a cuda::barrier or a pipeline of a block waits for: bulk copies from compute capability 9.0 on.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "check.h"

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__device__ int from[512];

TEST(barrier_copies, 1, 64) {
    __shared__ Barrier barrier;
    __shared__ alignas(16) int held[512];
    for (int i = threadIdx.x; i < 512; i += 64) from[i] = 3 * i;
    if (threadIdx.x == 0) init(&barrier, 64);
    __syncthreads();
    cuda::memcpy_async(&held[threadIdx.x * 4], &from[threadIdx.x * 4], cuda::aligned_size_t<16>(16), barrier);
    barrier.arrive_and_wait();
    SAME(held[255 - threadIdx.x], 3 * (255 - (int)threadIdx.x));
    cuda::memcpy_async(&held[threadIdx.x], &from[threadIdx.x + 1], 4, barrier);
    cuda::memcpy_async(&held[64 + threadIdx.x * 2], &from[threadIdx.x * 2], cuda::aligned_size_t<8>(8), barrier);
    barrier.arrive_and_wait();
    SAME(held[63 - threadIdx.x], 3 * (64 - (int)threadIdx.x));
    SAME(held[64 + threadIdx.x], 3 * (int)threadIdx.x);
}

template <cuda::thread_scope scope, unsigned stages>
__device__ void pipelined() {
    __shared__ cuda::pipeline_shared_state<scope, stages> state;
    __shared__ alignas(16) int held[stages][64];
    const auto block = cooperative_groups::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    for (int i = threadIdx.x; i < 512; i += 64) from[i] = 5 * i;
    block.sync();
    for (int batch = 0, next = 0; batch < 8; ++batch) {
        for (; next < 8 && next < batch + (int)stages; ++next) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, held[next % stages], from + next * 64, cuda::aligned_size_t<16>(256), pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        SAME(held[batch % stages][63 - threadIdx.x], 5 * (batch * 64 + 63 - (int)threadIdx.x));
        pipeline.consumer_release();
    }
}

TEST(pipelines, 1, 64) {
    pipelined<cuda::thread_scope_block, 1>();
    pipelined<cuda::thread_scope_block, 2>();
}
