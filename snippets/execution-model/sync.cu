// Who can wait for whom: a block, a cluster of blocks, the whole grid. In each kernel numbers go round a ring, one
// place a step, so a barrier left out shows at once.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
constexpr int BLOCK = 256;
constexpr int CLUSTER = 8;  // blocks; the most that every device with clusters can do
using Time = unsigned long long;

__device__ Time now() {
    Time t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

extern "C" {

// --8<-- [start:block]
// A ring in each block, in shared memory.
__global__ void ring_block(const int* in, int* out, int steps) {
    __shared__ int ring[BLOCK];
    int t = threadIdx.x;
    ring[t] = in[blockIdx.x * BLOCK + t];
    for (int s = 0; s < steps; ++s) {
        __syncthreads();  // all have written
        int x = ring[(t + 1) % BLOCK];
        __syncthreads();  // all have read
        ring[t] = x;
    }
    out[blockIdx.x * BLOCK + t] = ring[t];
}
// --8<-- [end:block]

// --8<-- [start:cluster]
// A ring through the shared memories of a cluster's blocks.
__global__ void __cluster_dims__(CLUSTER, 1, 1) ring_cluster(const int* in, int* out, int steps) {
    __shared__ int ring[BLOCK];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x;
    int owner = (cluster.block_rank() + (t + 1) / BLOCK) % CLUSTER;  // the neighbour of the last thread lives next door
    const int* neighbour = cluster.map_shared_rank(&ring[(t + 1) % BLOCK], owner);
    ring[t] = in[blockIdx.x * BLOCK + t];
    for (int s = 0; s < steps; ++s) {
        cluster.sync();  // all of the cluster have written
        int x = *neighbour;
        cluster.sync();  // all have read; and nobody leaves while its memory is being read
        ring[t] = x;
    }
    out[blockIdx.x * BLOCK + t] = ring[t];
}
// --8<-- [end:cluster]

// --8<-- [start:grid]
// One ring through global memory. Needs a cooperative launch: all blocks must be resident at once.
__global__ void ring_grid(int* ring, int steps) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.num_threads();
    for (int s = 0; s < steps; ++s) {
        int x = ring[(i + 1) % n];
        grid.sync();  // all have read
        ring[i] = x;
        grid.sync();  // all have written
    }
}
// --8<-- [end:grid]

// --8<-- [start:step]
// The same with a launch for a barrier: one step a launch, from one array into another.
__global__ void ring_step(const int* from, int* to, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) to[i] = from[(i + 1) % n];
}
// --8<-- [end:step]

// How long `count` barriers take, by the device's clock; block 0 tells. Before every 64th somebody else adds 1 to a number
// that all share, which comes out right only if the barriers hold.
__global__ void time_block(Time* nanoseconds, int* passed, int count) {
    __shared__ int turn;
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    Time from = now();
    for (int i = 0; i < count; ++i) {
        if (i % 64 == 0 && threadIdx.x == i / 64 % BLOCK) ++turn;
        __syncthreads();
    }
    if (blockIdx.x + threadIdx.x == 0) *nanoseconds = now() - from, *passed = turn;
}

__global__ void __cluster_dims__(CLUSTER, 1, 1) time_cluster(Time* nanoseconds, int* passed, int count) {
    __shared__ int turn;
    cg::cluster_group cluster = cg::this_cluster();
    int* shared_turn = cluster.map_shared_rank(&turn, 0);
    if (cluster.thread_rank() == 0) turn = 0;
    cluster.sync();
    Time from = now();
    for (int i = 0; i < count; ++i) {
        if (i % 64 == 0 && threadIdx.x == 0 && cluster.block_rank() == i / 64 % CLUSTER) ++*shared_turn;
        cluster.sync();
    }
    if (blockIdx.x + threadIdx.x == 0) *nanoseconds = now() - from, *passed = turn;
}

__global__ void time_grid(Time* nanoseconds, int* passed, int count) {  // *passed is 0 before
    cg::grid_group grid = cg::this_grid();
    Time from = now();
    for (int i = 0; i < count; ++i) {
        if (i % 64 == 0 && threadIdx.x == 0 && blockIdx.x == i / 64 % gridDim.x) ++*passed;
        grid.sync();
    }
    if (grid.thread_rank() == 0) *nanoseconds = now() - from;
}

}  // extern "C"
