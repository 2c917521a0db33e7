// Launches: <<<>>>, cudaLaunchKernel and its kin, and what kernels are asked about themselves.
#include <cstring>
#include <vector>

#include "runtime/runtime.h"

using namespace softcuda::runtime;

namespace {

struct Configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

bool within(const dim3& asked, CUdevice_attribute first, CUdevice device) {
    const unsigned each[] = {asked.x, asked.y, asked.z};
    for (int i = 0; i < 3; ++i) {
        int most = 0;
        cuDeviceGetAttribute(&most, CUdevice_attribute(first + i), device);
        if (!each[i] || each[i] > unsigned(most)) return false;
    }
    return true;
}

// The driver calls an impossible grid or block an invalid value; the runtime has a code of its own for them.
cudaError_t of_launch(CUresult answer, CUfunction kernel, const dim3& grid, const dim3& block) {
    if (answer != CUDA_ERROR_INVALID_VALUE) return from_driver(answer);
    const int device = current_device();
    int most = 0;
    cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel);
    const bool possible = within(grid, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, device) &&
                          within(block, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, device) &&
                          uint64_t(block.x) * block.y * block.z <= uint64_t(most);
    return possible ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;
}

cudaError_t launch(CUfunction kernel, const cudaLaunchConfig_t& config, void** arguments) {
    if (config.dynamicSmemBytes > UINT32_MAX) return cudaErrorInvalidValue;
    CUlaunchConfig asked{};
    asked.gridDimX = config.gridDim.x;
    asked.gridDimY = config.gridDim.y;
    asked.gridDimZ = config.gridDim.z;
    asked.blockDimX = config.blockDim.x;
    asked.blockDimY = config.blockDim.y;
    asked.blockDimZ = config.blockDim.z;
    asked.sharedMemBytes = unsigned(config.dynamicSmemBytes);
    asked.hStream = config.stream;
    static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute));
    asked.attrs = reinterpret_cast<CUlaunchAttribute*>(config.attrs);
    asked.numAttrs = config.numAttrs;
    void* none = nullptr;
    const CUresult answer = cuLaunchKernelEx(&asked, kernel, arguments ? arguments : &none, nullptr);
    return of_launch(answer, kernel, config.gridDim, config.blockDim);
}

cudaError_t launch_by_address(const void* function, const cudaLaunchConfig_t& config, void** arguments) {
    return in_context([&] {
        CUfunction kernel = nullptr;
        if (cudaError_t error = find_kernel(function, kernel)) return error;
        return launch(kernel, config, arguments);
    });
}

cudaLaunchConfig_t plain(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    return config;
}

template <class Body>
cudaError_t with_kernel(const void* function, Body&& body) {
    return in_context([&] {
        CUfunction kernel = nullptr;
        if (cudaError_t error = find_kernel(function, kernel)) return error;
        return from_driver(body(kernel));
    });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
    configurations.push_back({grid, block, shared, stream});
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    if (configurations.empty()) return note(cudaErrorMissingConfiguration);
    const Configuration top = configurations.back();
    configurations.pop_back();
    *grid = top.grid;
    *block = top.block;
    *shared = top.shared;
    std::memcpy(stream, &top.stream, sizeof top.stream);
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t handle, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
    return in_context([&] {
        CUfunction kernel = nullptr;
        if (cudaError_t error = find_launched(handle, kernel)) return error;
        return launch(kernel, plain(grid, block, shared, stream), arguments);
    });
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t handle, dim3 grid, dim3 block, void** arguments, size_t shared,
                                    cudaStream_t stream) {
    PerThreadDefault scope;
    return __cudaLaunchKernel(handle, grid, block, arguments, shared, stream);
}

}  // extern "C"
#pragma GCC visibility pop

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
    return launch_by_address(function, plain(grid, block, shared, stream), arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
    if (!config) return note(cudaErrorInvalidValue);
    return launch_by_address(function, *config, arguments);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                        cudaStream_t stream) {
    cudaLaunchAttribute cooperative{};
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    cudaLaunchConfig_t config = plain(grid, block, shared, stream);
    config.attrs = &cooperative;
    config.numAttrs = 1;
    return launch_by_address(function, config, arguments);
}

// --- what a kernel needs

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void* function) {
    return with_kernel(function, [&](CUfunction kernel) {
        if (!out) return CUDA_ERROR_INVALID_VALUE;
        std::memset(out, 0, sizeof *out);
        auto value_of = [&](CUfunction_attribute attribute) {
            int value = 0;
            cuFuncGetAttribute(&value, attribute, kernel);
            return value;
        };
        out->sharedSizeBytes = size_t(value_of(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
        out->constSizeBytes = size_t(value_of(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
        out->localSizeBytes = size_t(value_of(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
        out->maxThreadsPerBlock = value_of(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        out->numRegs = value_of(CU_FUNC_ATTRIBUTE_NUM_REGS);
        out->ptxVersion = value_of(CU_FUNC_ATTRIBUTE_PTX_VERSION);
        out->binaryVersion = value_of(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
        out->cacheModeCA = value_of(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
        out->maxDynamicSharedSizeBytes = value_of(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
        out->preferredShmemCarveout = value_of(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
        out->clusterDimMustBeSet = value_of(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
        out->requiredClusterWidth = value_of(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
        out->requiredClusterHeight = value_of(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
        out->requiredClusterDepth = value_of(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
        out->clusterSchedulingPolicyPreference = value_of(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
        out->nonPortableClusterSizeAllowed = value_of(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
        return CUDA_SUCCESS;
    });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
    return with_kernel(function, [&](CUfunction kernel) {
        return cuFuncSetAttribute(kernel, CUfunction_attribute(attribute), value);
    });
}
cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache config) {
    return with_kernel(function, [&](CUfunction kernel) { return cuFuncSetCacheConfig(kernel, CUfunc_cache(config)); });
}
cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig config) {
    return with_kernel(function,
                       [&](CUfunction kernel) { return cuFuncSetSharedMemConfig(kernel, CUsharedconfig(config)); });
}
cudaError_t cudaFuncGetName(const char** name, const void* function) {
    return with_kernel(function, [&](CUfunction kernel) { return cuFuncGetName(name, kernel); });
}
cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
    return with_kernel(function, [&](CUfunction kernel) { return cuFuncGetParamInfo(kernel, index, offset, bytes); });
}
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* out, const void* function) {
    if (!out) return note(cudaErrorInvalidValue);
    return with_kernel(function, [&](CUfunction kernel) {
        *out = kernel;
        return CUDA_SUCCESS;
    });
}
cudaError_t cudaGetKernel(cudaKernel_t* out, const void* function) {
    if (!out) return note(cudaErrorInvalidValue);
    return in_context([&] {
        CUkernel kernel = nullptr;
        const cudaError_t error = find_library_kernel(function, kernel);
        *out = kernel;
        return error;
    });
}

// --- occupancy

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                   size_t shared, unsigned flags) {
    return with_kernel(function, [&](CUfunction kernel) {
        return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, flags);
    });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks, int threads) {
    return with_kernel(function, [&](CUfunction kernel) {
        return cuOccupancyAvailableDynamicSMemPerBlock(bytes, kernel, blocks, threads);
    });
}

// --- libraries that a program loads itself: PTX

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* options, void** values,
                                unsigned count, cudaLibraryOption* library_options, void** library_values,
                                unsigned library_count) {
    return in_context([&] {
        return cuLibraryLoadData(library, code, reinterpret_cast<CUjit_option*>(options), values, count,
                                 reinterpret_cast<CUlibraryOption*>(library_options), library_values, library_count);
    });
}
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, cudaJitOption* options, void** values,
                                    unsigned count, cudaLibraryOption* library_options, void** library_values,
                                    unsigned library_count) {
    return in_context([&] {
        return cuLibraryLoadFromFile(library, path, reinterpret_cast<CUjit_option*>(options), values, count,
                                     reinterpret_cast<CUlibraryOption*>(library_options), library_values,
                                     library_count);
    });
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
    return in_context([&] { return cuLibraryUnload(library); });
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
    return in_context([&] { return cuLibraryGetKernel(kernel, library, name); });
}
cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
    return in_context(
        [&] { return cuLibraryGetGlobal(reinterpret_cast<CUdeviceptr*>(address), bytes, library, name); });
}
cudaError_t cudaLibraryGetManaged(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
    return in_context(
        [&] { return cuLibraryGetManaged(reinterpret_cast<CUdeviceptr*>(address), bytes, library, name); });
}
cudaError_t cudaLibraryGetUnifiedFunction(void** function, cudaLibrary_t library, const char* name) {
    return in_context([&] { return cuLibraryGetUnifiedFunction(function, library, name); });
}
cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
    return in_context([&] { return cuLibraryGetKernelCount(count, library); });
}
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count, cudaLibrary_t library) {
    return in_context([&] { return cuLibraryEnumerateKernels(kernels, count, library); });
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int device) {
    return in_context([&] { return cuKernelSetAttribute(CUfunction_attribute(attribute), value, kernel, device); });
}
