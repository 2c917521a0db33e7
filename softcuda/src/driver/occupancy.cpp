// Occupancy, as the CUDA C++ Programming Guide's technical specifications and the occupancy calculator define it for
// compute capability 7.5 to 12.0: an SM has four partitions, each with a quarter of its warps and registers.
#include "driver/occupancy.h"

#include <algorithm>
#include <climits>

namespace softcuda::driver {

namespace {

constexpr int partitions = 4, register_granularity = 256, warp_granularity = 4;

int round_up(int value, int granularity) { return (value + granularity - 1) / granularity * granularity; }

// A thread has at least 16 registers: Nsight Compute on an H200 says so of kernels that use fewer.
int registers_of_warp(int registers) { return round_up(std::max(registers, 16) * warp_size, register_granularity); }

}  // namespace

int registers_of_block(int registers, int threads) {
    return registers_of_warp(registers) * round_up((threads + warp_size - 1) / warp_size, warp_granularity);
}

int Occupancy::limit() const { return std::min({warps, registers, shared, blocks}); }

Occupancy occupancy(const Device& device, const Kernel& kernel, int threads, size_t dynamic_shared) {
    auto has = [&](CUdevice_attribute which) { return device.attribute(which); };
    if (threads > kernel.max_threads() || dynamic_shared > size_t(kernel.dynamic_shared_limit())) return {0, 0, 0, 0};
    int warps = (threads + warp_size - 1) / warp_size;

    Occupancy result{};
    result.blocks = has(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    result.warps = has(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / warp_size / warps;
    result.registers = INT_MAX;
    if (kernel.function->registers > 0) {
        int per_partition = has(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / partitions;
        int warps_held = per_partition / registers_of_warp(kernel.function->registers) * partitions;
        result.registers = warps_held / warps;
    }
    int granularity = device.profile_major() >= 8 ? 128 : 256;
    int shared = round_up(
        kernel.static_shared() + int(dynamic_shared) + has(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK),
        granularity);
    result.shared = shared ? has(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / shared : INT_MAX;
    return result;
}

}  // namespace softcuda::driver

using namespace softcuda::driver;

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle, int threads,
                                                              size_t dynamic_shared, unsigned flags) {
    return in_context([&](auto&) {
        require(blocks && threads > 0 && (flags & ~unsigned(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) == 0);
        *blocks = occupancy(device(), *find<Kernel>(handle), threads, dynamic_shared).limit();
    });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads,
                                                     size_t dynamic_shared) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, dynamic_shared, 0);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction handle,
                                                   CUoccupancyB2DSize dynamic_shared_of, size_t dynamic_shared,
                                                   int limit, unsigned flags) {
    return in_context([&](auto&) {
        require(grid && block && limit >= 0 && (flags & ~unsigned(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) == 0);
        auto kernel = find<Kernel>(handle);
        Device& gpu = device();
        int most = kernel->max_threads();
        if (limit > 0) most = std::min(most, limit);
        // The largest block among those that keep the most threads on an SM.
        int best_threads = 0, best_block = 0, best_blocks = 0;
        for (int rounded = (most + 31) / 32 * 32; rounded > 0; rounded -= 32) {
            int threads = std::min(rounded, most);
            size_t shared = dynamic_shared_of ? dynamic_shared_of(threads) : dynamic_shared;
            int blocks = occupancy(gpu, *kernel, threads, shared).limit();
            if (blocks * threads > best_threads) {
                best_threads = blocks * threads;
                best_block = threads;
                best_blocks = blocks;
            }
        }
        *block = best_block;
        *grid = best_blocks * gpu.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    });
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle,
                                          CUoccupancyB2DSize dynamic_shared_of, size_t dynamic_shared, int limit) {
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, handle, dynamic_shared_of, dynamic_shared, limit, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks, int threads) {
    return in_context([&](auto&) {
        require(bytes && blocks > 0 && threads > 0);
        auto kernel = find<Kernel>(handle);
        Device& gpu = device();
        Occupancy without = occupancy(gpu, *kernel, threads, 0);
        require(std::min({without.warps, without.registers, without.blocks}) >= blocks);
        int granularity = gpu.profile_major() >= 8 ? 128 : 256;
        int share = gpu.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / blocks / granularity *
                    granularity;
        int left =
            share - gpu.attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK) - kernel->static_shared();
        *bytes = size_t(std::clamp(left, 0, kernel->dynamic_shared_limit()));
    });
}
