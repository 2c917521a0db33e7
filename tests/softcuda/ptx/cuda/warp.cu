// Cooperation: warps, groups, barriers, atomics, asynchronous copies.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;

extern "C" __global__ void groups(int* x, int n) {
    cg::thread_block block = cg::this_thread_block();
    cg::grid_group grid = cg::this_grid();
    auto tile = cg::tiled_partition<16>(block);
    int v = x[grid.thread_rank()];
    v = cg::reduce(tile, v, cg::plus<int>());
    v += cg::inclusive_scan(tile, v);
    v += tile.shfl_xor(v, 3) + tile.any(v) + tile.ballot(v > 3) + tile.match_any(v);
    auto active = cg::coalesced_threads();
    if (v & 1) v += cg::reduce(active, v, cg::greater<int>());
    block.sync();
    grid.sync();
    x[grid.thread_rank()] = v;
}

extern "C" __global__ void copies(float4* x, int n) {
    __shared__ float4 stage[2][128];
    cg::thread_block block = cg::this_thread_block();
    __pipeline_memcpy_async(&stage[0][threadIdx.x], &x[threadIdx.x], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    cg::memcpy_async(block, stage[1], x + 128, sizeof(float4) * 128);
    cg::wait(block);
    x[threadIdx.x] = stage[1][threadIdx.x ^ 1];
}

extern "C" __global__ void atomics(int* x, float* f, double* d, unsigned long long* u, unsigned short* h) {
    __shared__ int s[32];
    s[threadIdx.x] = atomicAdd(x, 1) + atomicSub(x + 1, 2) + atomicExch(x + 2, 3) + atomicMin(x + 3, 4);
    atomicAdd(&s[threadIdx.x ^ 1],
              atomicMax(x + 4, 5) + atomicAnd(x + 5, 6) + atomicOr(x + 6, 7) + atomicXor(x + 7, 8));
    atomicInc((unsigned*)x + 8, 9u);
    atomicDec((unsigned*)x + 9, 9u);
    atomicCAS(x + 10, 1, 2);
    atomicCAS(h, (unsigned short)1, (unsigned short)2);
    atomicAdd(f, 1.0f);
    atomicAdd(d, 1.0);
    atomicAdd(u, 1ull);
    atomicAdd_block(x, 1);
    atomicAdd_system(x, s[3]);
    __threadfence();
    __threadfence_block();
    __threadfence_system();
}

extern "C" __global__ void votes(unsigned* x) {
    unsigned m = __activemask();
    unsigned v = x[threadIdx.x];
    v += __ballot_sync(m, v > 2) + __all_sync(m, v) + __any_sync(m, v) + __shfl_down_sync(~0u, v, 4, 16);
    v += __shfl_sync(~0u, v, 3) + __shfl_up_sync(~0u, v, 1) + __shfl_xor_sync(~0u, v, 8);
    __syncwarp();
    int p;
    v += __match_any_sync(~0u, v) + __match_all_sync(~0u, v, &p) + p;
    v += __syncthreads_count(v > 2) + __syncthreads_and(v) + __syncthreads_or(v);
#if __CUDA_ARCH__ >= 800
    v += __reduce_add_sync(~0u, v) + __reduce_xor_sync(~0u, v);
#endif
#if __CUDA_ARCH__ >= 700
    __nanosleep(10);
#endif
    x[threadIdx.x] = v;
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters(int* x) {
    __shared__ int mine[32];
    cg::cluster_group cluster = cg::this_cluster();
    mine[threadIdx.x] = x[threadIdx.x];
    cluster.sync();
    int* theirs = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1);
    x[threadIdx.x] = theirs[threadIdx.x];
    cluster.sync();
}
#endif
