// A cluster: four blocks that run at the same time and read each other's shared memory.

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int BLOCK = 128, CLUSTER = 4;

extern "C" {

// --8<-- [start:ring]
// Each block puts its tile into shared memory, and writes out that of the next block of its cluster.
__global__ void __cluster_dims__(CLUSTER, 1, 1) ring(const int* in, int* out, int* rank) {
    __shared__ int tile[BLOCK];
    cg::cluster_group cluster = cg::this_cluster();
    int i = blockIdx.x * BLOCK + threadIdx.x;
    tile[threadIdx.x] = in[i];
    cluster.sync();  // all tiles of the cluster are written
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    out[i] = cluster.map_shared_rank(tile, next)[threadIdx.x];
    if (threadIdx.x == 0) rank[blockIdx.x] = cluster.block_rank();
    cluster.sync();  // nobody leaves while its tile is being read
}
// --8<-- [end:ring]
}
