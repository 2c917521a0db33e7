// <cuda/ptx>: instructions by name, as libraries call them.
#include <cuda/barrier>
#include <cuda/ptx>

#include "check.h"

namespace ptx = cuda::ptx;

TEST(special_registers, 1, 64) {
    SAME(ptx::get_sreg_tid_x(), threadIdx.x);
    SAME(ptx::get_sreg_ntid_x(), 64u);
    SAME(ptx::get_sreg_laneid(), threadIdx.x % 32);
    SAME(ptx::get_sreg_ctaid_x() + ptx::get_sreg_ctaid_y() + ptx::get_sreg_ctaid_z(), 0u);
    SAME(ptx::get_sreg_nctaid_x() * ptx::get_sreg_nctaid_y(), 1u);
    SAME(ptx::get_sreg_lanemask_eq(), 1u << threadIdx.x % 32);
    SAME(ptx::get_sreg_lanemask_lt() | ptx::get_sreg_lanemask_ge(), 0xffffffffu);
    CHECK(ptx::get_sreg_smid() < ptx::get_sreg_nsmid());
    CHECK(ptx::get_sreg_clock64() > 0);
    CHECK(ptx::get_sreg_total_smem_size() >= ptx::get_sreg_dynamic_smem_size());
    SAME(ptx::get_sreg_dynamic_smem_size(), 0u);
    CHECK(ptx::get_sreg_globaltimer() > 0);
    CHECK(ptx::get_sreg_warpid() < ptx::get_sreg_nwarpid());
    (void)ptx::get_sreg_gridid();
    (void)ptx::get_sreg_clock();
    (void)ptx::get_sreg_clock_hi();
#if __CUDA_ARCH__ >= 900
    SAME(ptx::get_sreg_cluster_ctarank(), 0u);
    SAME(ptx::get_sreg_cluster_nctarank(), 1u);
    SAME(ptx::get_sreg_is_explicit_cluster(), false);
    SAME(ptx::get_sreg_cluster_nctaid_x(), 1u);
    SAME(ptx::get_sreg_clusterid_x(), 0u);
    SAME(ptx::get_sreg_nclusterid_x(), 1u);
    SAME(ptx::get_sreg_aggr_smem_size(), ptx::get_sreg_total_smem_size());
#endif
}

TEST(fences, 1, 64) {
    ptx::fence(ptx::sem_sc, ptx::scope_cta);
    ptx::fence(ptx::sem_acq_rel, ptx::scope_gpu);
    ptx::fence(ptx::sem_acq_rel, ptx::scope_sys);
#if __CUDA_ARCH__ >= 900
    ptx::fence(ptx::sem_acq_rel, ptx::scope_cluster);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::fence_proxy_async();
    ptx::fence_proxy_async(ptx::space_global);
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::fence_proxy_alias();
#endif
    CHECK(true);
}

TEST(barriers, 1, 64, since = 80) {
#if __CUDA_ARCH__ >= 800
    __shared__ cuda::std::uint64_t barrier;
    if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 64);
    __syncthreads();
    const auto token = ptx::mbarrier_arrive(&barrier);
    while (!ptx::mbarrier_test_wait(&barrier, token)) {
    }
#if __CUDA_ARCH__ >= 900
    const auto second = ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, 1);
    while (!ptx::mbarrier_try_wait(&barrier, second)) {
    }
    (void)ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_shared, &barrier);
    while (!ptx::mbarrier_try_wait_parity(&barrier, 0, 1000u)) {
    }
    (void)ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, 0);
    while (!ptx::mbarrier_test_wait_parity(&barrier, 1)) {
    }
#endif
    CHECK(true);
#endif
}

__device__ alignas(16) int from[256], to[256];

TEST(bulk_copies, 1, 64, since = 90) {
#if __CUDA_ARCH__ >= 900
    __shared__ cuda::std::uint64_t barrier;
    __shared__ alignas(16) int held[256];
    for (int i = threadIdx.x; i < 256; i += 64) from[i] = 7 * i, to[i] = 1;
    if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::fence_proxy_async();
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, held, from, sizeof held, &barrier);
        (void)ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier,
                                             sizeof held);
    }
    while (!ptx::mbarrier_try_wait_parity(&barrier, 0)) {
    }
    SAME(held[threadIdx.x * 4 + 1], 7 * ((int)threadIdx.x * 4 + 1));
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::fence_proxy_async(ptx::space_shared);
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, to, held, 512);
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, to + 128, held, 512);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
    __syncthreads();
    SAME(to[threadIdx.x * 2], 7 * (int)threadIdx.x * 2 + 1);
    SAME(to[threadIdx.x * 2 + 128], 7 * (int)threadIdx.x * 2);
#endif
}

TEST(remote_stores, 2, 32, cluster = 2, since = 90) {
#if __CUDA_ARCH__ >= 900
    __shared__ cuda::std::uint64_t barrier;
    __shared__ int held[32], total;
    if (threadIdx.x == 0) ptx::mbarrier_init(&barrier, 1), total = 0;
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
    if (threadIdx.x == 0)
        (void)ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, 32 * 8);
    const unsigned other = blockIdx.x ^ 1;
    auto there = [&](auto* p) { return (decltype(p))__cluster_map_shared_rank(p, other); };
    ptx::st_async(there(&held[threadIdx.x]), (int)(blockIdx.x * 100 + threadIdx.x), there(&barrier));
    ptx::red_async(ptx::op_add, there(&total), 3, there(&barrier));
    while (!ptx::mbarrier_try_wait_parity(&barrier, 0)) {
    }
    SAME(held[threadIdx.x], (int)(other * 100 + threadIdx.x));
    SAME(total, 96);
    ptx::barrier_cluster_arrive(ptx::sem_release);
    ptx::barrier_cluster_wait(ptx::sem_acquire);
#endif
}
