// Blocks that work together: a grid that synchronises, and clusters with distributed shared memory.
#include <cooperative_groups.h>

#include "require.h"

namespace cg = cooperative_groups;

__global__ void two_phases(int* data, int* sums) {
    const cg::grid_group grid = cg::this_grid();
    data[grid.thread_rank()] = int(grid.thread_rank());
    grid.sync();
    if (threadIdx.x == 0) {  // each block sums what another one wrote
        const int first = int((blockIdx.x + 1) % gridDim.x * blockDim.x);
        for (int i = 0; i < int(blockDim.x); ++i) sums[blockIdx.x] += data[first + i];
    }
}

__global__ void neighbours(int* out) {
    const cg::cluster_group cluster = cg::this_cluster();
    __shared__ int mine;
    if (threadIdx.x == 0) mine = 100 + int(cluster.block_rank());
    cluster.sync();
    const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    if (threadIdx.x == 0) out[blockIdx.x] = *cluster.map_shared_rank(&mine, next);
    cluster.sync();
}

__global__ void __cluster_dims__(4) always_four(int* out) {
    if (threadIdx.x == 0) out[blockIdx.x] = int(cg::this_cluster().num_blocks());
}

int main() {
    int *data, *sums;
    OK(cudaMallocManaged(&data, 8 * 64 * 4));
    OK(cudaMallocManaged(&sums, 8 * 4));
    for (int i = 0; i < 8; ++i) sums[i] = 0;
    void* arguments[] = {&data, &sums};
    OK(cudaLaunchCooperativeKernel(two_phases, dim3(8), dim3(64), arguments, 0, nullptr));
    OK(cudaDeviceSynchronize());
    REQUIRE(sums[7] == 63 * 64 / 2 && sums[0] == 64 * 64 + 63 * 64 / 2);
    ANSWERS(cudaErrorCooperativeLaunchTooLarge,
            cudaLaunchCooperativeKernel(two_phases, dim3(1 << 20), dim3(64), arguments, 0, nullptr));
    cudaGetLastError();

    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {4, 1, 1};
    config.gridDim = dim3(8);
    config.blockDim = dim3(32);
    config.attrs = &cluster;
    config.numAttrs = 1;
    OK(cudaLaunchKernelEx(&config, neighbours, sums));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 8; ++i) REQUIRE(sums[i] == 100 + (i + 1) % 4);
    always_four<<<8, 32>>>(sums);
    OK(cudaDeviceSynchronize());
    REQUIRE(sums[7] == 4);
    std::puts("ok");
}
