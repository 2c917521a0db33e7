// Cooperative groups: tiles, coalesced and partitioned groups, collectives, grid and cluster.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>

#include "check.h"

namespace cg = cooperative_groups;

template <int size>
__device__ void tile() {
    const auto tile = cg::tiled_partition<size>(cg::this_thread_block());
    const unsigned rank = threadIdx.x % size, base = threadIdx.x - rank;
    SAME(tile.thread_rank(), rank);
    SAME(tile.num_threads(), size);
    SAME(tile.meta_group_rank(), threadIdx.x / size);
    SAME(tile.meta_group_size(), 64 / size);
    SAME(tile.shfl(threadIdx.x, size - 1), base + size - 1);
    SAME(tile.shfl_xor(threadIdx.x, size / 2), threadIdx.x ^ size / 2);
    SAME(tile.shfl_down(threadIdx.x, 1), rank + 1 < size ? threadIdx.x + 1 : threadIdx.x);
    SAME(tile.shfl_up(threadIdx.x, 1), rank ? threadIdx.x - 1 : threadIdx.x);
    SAME(tile.any(rank == 0), true);
    SAME(tile.all(rank == 0), size == 1);
    if constexpr (size <= 32) {
        SAME(tile.ballot(true), size == 32 ? ~0u : (1u << size) - 1);
        SAME(tile.match_any(rank & 1) & 1, !(rank & 1));
    }
    SAME(cg::reduce(tile, rank, cg::plus<unsigned>()), size * (size - 1u) / 2);
    SAME(cg::reduce(tile, (float)rank, cg::greater<float>()), size - 1.0f);
    SAME(cg::reduce(tile, 1ull << rank % 32, cg::bit_or<unsigned long long>()),
         size >= 32 ? 0xffffffffull : (1ull << size) - 1);
    SAME(cg::inclusive_scan(tile, rank, cg::plus<unsigned>()), rank * (rank + 1) / 2);
    SAME(cg::exclusive_scan(tile, 2u), 2 * rank);
    tile.sync();
}

TEST(tiles, 1, 64) {
    tile<1>();
    tile<2>();
    tile<4>();
    tile<8>();
    tile<16>();
    tile<32>();
}

TEST(runtime_tiles, 1, 64) {
    const auto tile = cg::tiled_partition(cg::this_thread_block(), hide(8u));
    SAME(tile.size(), 8ull);
    SAME(tile.thread_rank(), threadIdx.x % 8);
    const auto nested = cg::tiled_partition<4>(cg::tiled_partition<16>(cg::this_thread_block()));
    SAME(nested.meta_group_rank(), threadIdx.x % 16 / 4);
}

TEST(coalesced, 1, 64) {
    if (threadIdx.x % 32 % 3 == 1) {
        const auto active = cg::coalesced_threads();
        SAME(active.size(), 11u);
        SAME(active.thread_rank(), threadIdx.x % 32 / 3);
        SAME(active.shfl(threadIdx.x % 32, 2), 7u);
        SAME(active.shfl_down(threadIdx.x % 32, 1), threadIdx.x % 32 == 31 ? 31 : threadIdx.x % 32 + 3);
        SAME(active.shfl_up(threadIdx.x % 32, 1), threadIdx.x % 32 == 1 ? 1 : threadIdx.x % 32 - 3);
        SAME(active.ballot(true), 0x7ffu);
        SAME(active.any(threadIdx.x % 32 == 4), true);
        SAME(active.all(threadIdx.x % 32 == 4), false);
        SAME(active.match_any(1), 0x7ffu);
        SAME(cg::reduce(active, 2, cg::plus<int>()), 22);
        SAME(cg::inclusive_scan(active, 1, cg::plus<int>()), (int)active.thread_rank() + 1);
        active.sync();
    }
}

TEST(partitions, 1, 64) {
    const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    const auto label = cg::labeled_partition(tile, (int)threadIdx.x % 5);
    CHECK(label.size() == 6 || label.size() == 7);
    SAME(label.shfl((int)threadIdx.x % 5, 0), (int)threadIdx.x % 5);
    const auto half = cg::binary_partition(tile, threadIdx.x % 32 < 10);
    SAME(half.size(), threadIdx.x % 32 < 10 ? 10u : 22u);
    SAME(cg::reduce(half, 1, cg::plus<int>()), threadIdx.x % 32 < 10 ? 10 : 22);
    int called = 0;
    cg::invoke_one(tile, [&] { called = 1; });
    SAME(cg::reduce(tile, called, cg::plus<int>()), 1);
    SAME(cg::invoke_one_broadcast(tile, [] { return hide(17); }), 17);
}

TEST(atomic_update, 1, 64) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    cuda::atomic_ref<int, cuda::thread_scope_block> sum(total);
    cg::reduce_update_async(tile, sum, 3, cg::plus<int>());
    cg::reduce_store_async(tile, &total + 0, 0, cg::plus<int>());
    __syncthreads();
    CHECK(total >= 0);
}

TEST(block, 2, 96) {
    const auto block = cg::this_thread_block();
    SAME(block.thread_rank(), threadIdx.x);
    SAME(block.group_index().x, blockIdx.x);
    SAME(block.dim_threads().x, 96u);
    __shared__ int held[96];
    held[threadIdx.x] = threadIdx.x;
    auto token = block.barrier_arrive();
    block.barrier_wait(cuda::std::move(token));
    SAME(held[95 - threadIdx.x], 95 - (int)threadIdx.x);
}

__device__ int from[256];

TEST(copies, 1, 64) {
    const auto block = cg::this_thread_block();
    __shared__ alignas(16) int held[256];
    for (int i = threadIdx.x; i < 256; i += 64) from[i] = i * i;
    block.sync();
    cg::memcpy_async(block, held, from, sizeof(int) * 200);
    cg::wait(block);
    SAME(held[threadIdx.x * 3], (int)threadIdx.x * 3 * (int)threadIdx.x * 3);
    block.sync();
    const auto tile = cg::tiled_partition<32>(block);
    const int at = threadIdx.x / 32 * 128;
    cg::memcpy_async(tile, held + at, from + 128 - at, cuda::aligned_size_t<16>(256));
    cg::memcpy_async(tile, held + at + 64, from + 192 - at, cuda::aligned_size_t<4>(256));
    cg::wait_prior<1>(tile);
    SAME(held[at + threadIdx.x % 32], (128 - at + (int)threadIdx.x % 32) * (128 - at + (int)threadIdx.x % 32));
    cg::wait(tile);
    SAME(held[at + 127], (255 - at) * (255 - at));
}

__device__ unsigned arrived[8];

TEST(grid, 8, 64, cooperative) {
    const auto grid = cg::this_grid();
    CHECK(grid.is_valid());
    SAME(grid.size(), 512ull);
    SAME(grid.thread_rank(), blockIdx.x * 64ull + threadIdx.x);
    SAME(grid.num_blocks(), 8ull);
    for (unsigned round = 1; round < 4; ++round) {
        if (threadIdx.x == 0) arrived[blockIdx.x] = round;
        grid.sync();
        SAME(arrived[threadIdx.x % 8], round);
        auto token = grid.barrier_arrive();
        grid.barrier_wait(cuda::std::move(token));
    }
}

TEST(cluster, 4, 64, cluster = 2, since = 90) {
#if __CUDA_ARCH__ >= 900
    const auto cluster = cg::this_cluster();
    __shared__ unsigned held[64];
    held[threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
    cluster.sync();
    SAME(cluster.num_blocks(), 2u);
    SAME(cluster.block_rank(), blockIdx.x % 2);
    SAME(cluster.num_threads(), 128u);
    const unsigned* other = cluster.map_shared_rank(held, cluster.block_rank() ^ 1);
    SAME(other[threadIdx.x], (blockIdx.x ^ 1) * 100 + threadIdx.x);
    SAME(cluster.query_shared_rank(other), cluster.block_rank() ^ 1);
    cluster.barrier_arrive();
    cluster.barrier_wait();
    atomicAdd(cluster.map_shared_rank(&held[threadIdx.x], 0), 1000u);
    cluster.sync();
    if (blockIdx.x % 2 == 0) SAME(held[threadIdx.x], 2000 + blockIdx.x * 100 + threadIdx.x);
#endif
}

// Tiles of more than a warp synchronise through shared memory that the compiler reserves.
TEST(wide_tiles, 1, 128, since = 80) {
#if __CUDA_ARCH__ >= 800
    __shared__ cg::block_tile_memory<128> room;
    const auto block = cg::this_thread_block(room);
    const auto tile = cg::tiled_partition<64>(block);
    SAME(tile.thread_rank(), threadIdx.x % 64);
    SAME(tile.shfl(threadIdx.x, 63), threadIdx.x | 63);
    SAME(tile.any(threadIdx.x == 64), threadIdx.x >= 64);
    SAME(cg::reduce(tile, 1, cg::plus<int>()), 64);
    SAME(cg::inclusive_scan(tile, 1, cg::plus<int>()), (int)threadIdx.x % 64 + 1);
    tile.sync();
#endif
}
