// Blocks that take over the work of blocks that have not started: clusterlaunchcontrol.
#include <cooperative_groups.h>

#include <cuda/ptx>

#include "check.h"

namespace ptx = cuda::ptx;

constexpr unsigned blocks = 24;
__device__ unsigned times[blocks], finished;

// Every block's work, done once by somebody; who does the last piece looks at all.
__device__ void work(unsigned block) {
    atomicAdd(&times[block], 1u);
    __threadfence();
    if (atomicAdd(&finished, 1u) == blocks - 1)
        for (unsigned i = 0; i < blocks; ++i) SAME(atomicExch(&times[i], 0u), 1u);
}

TEST(stolen_blocks, 24, 64, since = 100) {
#if __CUDA_ARCH__ >= 1000
    __shared__ alignas(16) uint4 response;
    __shared__ unsigned long long waiting;
    auto* barrier = reinterpret_cast<cuda::std::uint64_t*>(&waiting);
    if (threadIdx.x == 0) ptx::mbarrier_init(barrier, 1);
    __syncthreads();
    unsigned block = blockIdx.x, parity = 0;
    while (true) {
        if (threadIdx.x == 0) {
            ptx::fence_proxy_async(ptx::space_shared);
            ptx::clusterlaunchcontrol_try_cancel(&response, barrier);
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier, 16);
            work(block);
        }
        while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cta, barrier, parity)) {
        }
        parity ^= 1;
        const uint4 taken = response;
        if (!ptx::clusterlaunchcontrol_query_cancel_is_canceled(taken)) break;
        block = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_x<unsigned>(taken);
        CHECK(block < blocks && block != blockIdx.x);
        unsigned first[4] = {};
        ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid(first, taken);
        SAME(first[0], block);
        SAME(first[1], 0u);
        SAME(first[2], 0u);
        SAME(ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_y<unsigned>(taken), 0u);
        SAME(ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_z<unsigned>(taken), 0u);
        __syncthreads();
    }
    CHECK(true);
#endif
}

__device__ unsigned work_of_clusters[blocks], finished_by_clusters;

// Clusters of two do the same; the response goes to both.
TEST(stolen_clusters, 24, 32, since = 100, cluster = 2) {
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
    namespace cg = cooperative_groups;
    __shared__ alignas(16) uint4 response;
    __shared__ unsigned long long waiting;
    auto* barrier = reinterpret_cast<cuda::std::uint64_t*>(&waiting);
    const cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) ptx::mbarrier_init(barrier, 1);
    cluster.sync();
    unsigned block = blockIdx.x, parity = 0;
    while (true) {
        if (threadIdx.x == 0) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier, 16);
            atomicAdd(&work_of_clusters[block], 1u);
            __threadfence();
            if (atomicAdd(&finished_by_clusters, 1u) == blocks - 1)
                for (unsigned i = 0; i < blocks; ++i) SAME(work_of_clusters[i], 1u);
        }
        cluster.sync();
        if (threadIdx.x == 0 && cluster.block_rank() == 0)
            ptx::clusterlaunchcontrol_try_cancel_multicast(&response, barrier);
        while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cta, barrier, parity)) {
        }
        parity ^= 1;
        const uint4 taken = response;
        if (!ptx::clusterlaunchcontrol_query_cancel_is_canceled(taken)) break;
        block = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_x<unsigned>(taken) + cluster.block_rank();
        CHECK(block < blocks && block % 2 == blockIdx.x % 2);
        cluster.sync();
    }
    cluster.sync();
#endif
    CHECK(true);
}
