// CUB's collectives for warps and blocks.
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/iterator/cache_modified_input_iterator.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#include "check.h"

struct Most {
    template <class T>
    __device__ T operator()(const T& a, const T& b) const {
        return a > b ? a : b;
    }
};
struct Least {
    template <class T>
    __device__ bool operator()(const T& a, const T& b) const {
        return a < b;
    }
};

template <cub::BlockReduceAlgorithm algorithm>
__device__ void reduces() {
    using Reduce = cub::BlockReduce<int, 128, algorithm>;
    __shared__ typename Reduce::TempStorage room;
    int sum = Reduce(room).Sum(threadIdx.x);
    if (threadIdx.x == 0) SAME(sum, 127 * 64);
    __syncthreads();
    sum = Reduce(room).Reduce((int)(threadIdx.x * 37 % 128), Most(), 100);
    if (threadIdx.x == 0) SAME(sum, 127);
    __syncthreads();
    int items[3] = {1, 2, (int)threadIdx.x};
    sum = Reduce(room).Sum(items);
    if (threadIdx.x == 0) SAME(sum, 127 * 64 + 384);
    __syncthreads();
}

TEST(reduce, 1, 128) {
    reduces<cub::BLOCK_REDUCE_RAKING>();
    reduces<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>();
    reduces<cub::BLOCK_REDUCE_WARP_REDUCTIONS>();
}

template <cub::BlockScanAlgorithm algorithm>
__device__ void scans() {
    using Scan = cub::BlockScan<int, 128, algorithm>;
    __shared__ typename Scan::TempStorage room;
    int x, total;
    Scan(room).InclusiveSum(1, x, total);
    SAME(x, (int)threadIdx.x + 1);
    SAME(total, 128);
    __syncthreads();
    Scan(room).ExclusiveSum((int)threadIdx.x, x);
    SAME(x, (int)(threadIdx.x * (threadIdx.x - 1) / 2));
    __syncthreads();
    int items[4] = {1, 2, 3, 4};
    Scan(room).ExclusiveScan(items, items, -5, Most());
    SAME(items[0], threadIdx.x ? 4 : -5);
    SAME(items[3], threadIdx.x ? 4 : 3);
    __syncthreads();
}

TEST(scan, 1, 128) {
    scans<cub::BLOCK_SCAN_RAKING>();
    scans<cub::BLOCK_SCAN_RAKING_MEMOIZE>();
    scans<cub::BLOCK_SCAN_WARP_SCANS>();
}

template <class Key>
__device__ void sorts() {
    using Sort = cub::BlockRadixSort<Key, 128, 4, int>;
    __shared__ typename Sort::TempStorage room;
    Key keys[4];
    int values[4];
    for (int i = 0; i < 4; ++i) values[i] = (int)(threadIdx.x * 4 + i) * 77 % 512, keys[i] = Key(values[i] - 200);
    Sort(room).Sort(keys, values);
    for (int i = 0; i < 4; ++i) SAME(keys[i], Key(values[i] - 200));
    if constexpr (Key(-1) < Key(0))
        for (int i = 0; i < 4; ++i) SAME(values[i], (int)threadIdx.x * 4 + i);
    __syncthreads();
    Sort(room).SortDescendingBlockedToStriped(keys, values);
    if constexpr (Key(-1) < Key(0))
        for (int i = 0; i < 4; ++i) SAME(values[i], 511 - (int)threadIdx.x - 128 * i);
    __syncthreads();
}

TEST(radix_sort, 1, 128) {
    sorts<int>();
    sorts<float>();
    sorts<unsigned long long>();
}

TEST(merge_sort, 1, 128) {
    using Sort = cub::BlockMergeSort<int, 128, 3>;
    __shared__ Sort::TempStorage room;
    int keys[3];
    for (int i = 0; i < 3; ++i) keys[i] = (int)(threadIdx.x * 3 + i) * 101 % 384;
    Sort(room).Sort(keys, Least());
    for (int i = 0; i < 3; ++i) SAME(keys[i], (int)threadIdx.x * 3 + i);
    using Warp = cub::WarpMergeSort<float, 2>;
    __shared__ Warp::TempStorage rooms[4];
    float few[2] = {float(31 - threadIdx.x % 32), float(63 - threadIdx.x % 32)};
    Warp(rooms[threadIdx.x / 32]).Sort(few, Least());
    SAME(few[0], float(threadIdx.x % 32 * 2));
    SAME(few[1], float(threadIdx.x % 32 * 2 + 1));
}

__device__ alignas(32) int cells[128 * 4];

template <cub::BlockLoadAlgorithm load, cub::BlockStoreAlgorithm store>
__device__ void moves() {
    using Load = cub::BlockLoad<int, 128, 4, load>;
    using Store = cub::BlockStore<int, 128, 4, store>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } room;
    for (int i = threadIdx.x; i < 512; i += 128) cells[i] = i;
    __syncthreads();
    int items[4];
    Load(room.load).Load(cells, items);
    const bool striped = load == cub::BLOCK_LOAD_STRIPED;
    for (int i = 0; i < 4; ++i) SAME(items[i], striped ? (int)threadIdx.x + 128 * i : (int)threadIdx.x * 4 + i);
    for (int& item : items) item *= 2;
    __syncthreads();
    Store(room.store).Store(cells, items);
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += 128) SAME(cells[i], 2 * i);
    __syncthreads();
    Load(room.load).Load(cells, items, 300, -1);
    if (!striped) SAME(items[3], threadIdx.x * 4 + 3 < 300 ? 2 * (int)(threadIdx.x * 4 + 3) : -1);
    __syncthreads();
}

TEST(load_and_store, 1, 128) {
    moves<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>();
    moves<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>();
    moves<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>();
    moves<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>();
    moves<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>();
}

template <cub::CacheLoadModifier modifier>
__device__ void cached() {
    cub::CacheModifiedInputIterator<modifier, int> at(cells);
    SAME(at[threadIdx.x], (int)threadIdx.x * 3);
}

TEST(cache_modifiers, 1, 128) {
    cells[threadIdx.x] = threadIdx.x * 3;
    __syncthreads();
    cached<cub::LOAD_DEFAULT>();
    cached<cub::LOAD_CA>();
    cached<cub::LOAD_CG>();
    cached<cub::LOAD_CS>();
    cached<cub::LOAD_CV>();
    cached<cub::LOAD_VOLATILE>();
}

TEST(warps, 1, 64) {
    using Reduce = cub::WarpReduce<int>;
    using Few = cub::WarpReduce<int, 8>;
    using Scan = cub::WarpScan<long long>;
    using Exchange = cub::WarpExchange<int, 4>;
    __shared__ Reduce::TempStorage reduce[2];
    __shared__ Few::TempStorage few[8];
    __shared__ Scan::TempStorage scan[2];
    __shared__ Exchange::TempStorage exchange[2];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int sum = Reduce(reduce[warp]).Sum(lane);
    if (lane == 0) SAME(sum, 496);
    sum = Reduce(reduce[warp]).HeadSegmentedSum(1, lane % 5 == 0);
    if (lane % 5 == 0) SAME(sum, lane == 30 ? 2 : 5);
    sum = Few(few[threadIdx.x / 8]).Reduce(lane % 8 * 3 % 8, Most());
    if (lane % 8 == 0) SAME(sum, 7);
    long long inclusive, exclusive;
    Scan(scan[warp]).Scan((long long)lane << 33, inclusive, exclusive, cuda::std::plus<long long>());
    SAME(inclusive, (long long)(lane * (lane + 1) / 2) << 33);
    if (lane) SAME(exclusive, (long long)(lane * (lane - 1) / 2) << 33);
    SAME(Scan(scan[warp]).Broadcast(lane, 3), 3ll);
    int items[4] = {lane * 4, lane * 4 + 1, lane * 4 + 2, lane * 4 + 3};
    Exchange(exchange[warp]).BlockedToStriped(items, items);
    SAME(items[2], lane + 64);
}

TEST(neighbours, 1, 128) {
    using Flags = cub::BlockDiscontinuity<int, 128>;
    using Difference = cub::BlockAdjacentDifference<int, 128>;
    using Histogram = cub::BlockHistogram<unsigned char, 128, 2, 16>;
    using Sorted = cub::BlockHistogram<unsigned char, 128, 2, 16, cub::BLOCK_HISTO_SORT>;
    using Exchange = cub::BlockExchange<int, 128, 2>;
    using Shuffle = cub::BlockShuffle<int, 128>;
    __shared__ union {
        Flags::TempStorage flags;
        Difference::TempStorage difference;
        Histogram::TempStorage histogram;
        Sorted::TempStorage sorted;
        Exchange::TempStorage exchange;
        Shuffle::TempStorage shuffle;
    } room;
    __shared__ int counts[16];
    int items[2] = {(int)threadIdx.x / 3, (int)threadIdx.x / 3}, flags[2],
        steps[2] = {(int)threadIdx.x * 4, (int)threadIdx.x * 4 + 1};
    Flags(room.flags).FlagHeads(flags, items, cuda::std::not_equal_to<int>());
    SAME(flags[0], threadIdx.x % 3 == 0);
    SAME(flags[1], 0);
    __syncthreads();
    Difference(room.difference).SubtractLeft(steps, steps, cuda::std::minus<int>());
    SAME(steps[0], threadIdx.x ? 3 : 0);
    SAME(steps[1], 1);
    __syncthreads();
    unsigned char bytes[2] = {(unsigned char)(threadIdx.x % 16), 3};
    Histogram(room.histogram).Histogram(bytes, counts);
    __syncthreads();
    SAME(counts[threadIdx.x % 16], threadIdx.x % 16 == 3 ? 136 : 8);
    __syncthreads();
    Sorted(room.sorted).Histogram(bytes, counts);
    __syncthreads();
    SAME(counts[threadIdx.x % 16], threadIdx.x % 16 == 3 ? 136 : 8);
    __syncthreads();
    int pair[2] = {(int)threadIdx.x * 2, (int)threadIdx.x * 2 + 1}, next;
    Exchange(room.exchange).BlockedToStriped(pair, pair);
    SAME(pair[1], (int)threadIdx.x + 128);
    __syncthreads();
    Shuffle(room.shuffle).Rotate((int)threadIdx.x, next, 5);
    SAME(next, (int)(threadIdx.x + 5) % 128);
}
