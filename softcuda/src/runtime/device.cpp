// What can be asked about devices.
#include <cstddef>
#include <cstring>

#include "runtime/runtime.h"

using namespace softcuda::runtime;

namespace {

struct Property {
    size_t offset;
    CUdevice_attribute attribute;
    bool wide = false;  // size_t
};

#define INT(field, attribute) {offsetof(cudaDeviceProp, field), CU_DEVICE_ATTRIBUTE_##attribute}
#define WIDE(field, attribute) {offsetof(cudaDeviceProp, field), CU_DEVICE_ATTRIBUTE_##attribute, true}
constexpr Property properties[] = {
    WIDE(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
    INT(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
    INT(warpSize, WARP_SIZE),
    WIDE(memPitch, MAX_PITCH),
    INT(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
    INT(maxThreadsDim[0], MAX_BLOCK_DIM_X),
    INT(maxThreadsDim[1], MAX_BLOCK_DIM_Y),
    INT(maxThreadsDim[2], MAX_BLOCK_DIM_Z),
    INT(maxGridSize[0], MAX_GRID_DIM_X),
    INT(maxGridSize[1], MAX_GRID_DIM_Y),
    INT(maxGridSize[2], MAX_GRID_DIM_Z),
    WIDE(totalConstMem, TOTAL_CONSTANT_MEMORY),
    INT(major, COMPUTE_CAPABILITY_MAJOR),
    INT(minor, COMPUTE_CAPABILITY_MINOR),
    WIDE(textureAlignment, TEXTURE_ALIGNMENT),
    WIDE(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
    INT(multiProcessorCount, MULTIPROCESSOR_COUNT),
    INT(integrated, INTEGRATED),
    INT(canMapHostMemory, CAN_MAP_HOST_MEMORY),
    INT(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH),
    INT(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH),
    INT(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH),
    INT(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT),
    INT(maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH),
    INT(maxTexture2DMipmap[1], MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT),
    INT(maxTexture2DLinear[0], MAXIMUM_TEXTURE2D_LINEAR_WIDTH),
    INT(maxTexture2DLinear[1], MAXIMUM_TEXTURE2D_LINEAR_HEIGHT),
    INT(maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH),
    INT(maxTexture2DGather[0], MAXIMUM_TEXTURE2D_GATHER_WIDTH),
    INT(maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT),
    INT(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH),
    INT(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT),
    INT(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH),
    INT(maxTexture3DAlt[0], MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE),
    INT(maxTexture3DAlt[1], MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE),
    INT(maxTexture3DAlt[2], MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE),
    INT(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH),
    INT(maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH),
    INT(maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS),
    INT(maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH),
    INT(maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT),
    INT(maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS),
    INT(maxTextureCubemapLayered[0], MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH),
    INT(maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS),
    INT(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH),
    INT(maxSurface2D[0], MAXIMUM_SURFACE2D_WIDTH),
    INT(maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT),
    INT(maxSurface3D[0], MAXIMUM_SURFACE3D_WIDTH),
    INT(maxSurface3D[1], MAXIMUM_SURFACE3D_HEIGHT),
    INT(maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH),
    INT(maxSurface1DLayered[0], MAXIMUM_SURFACE1D_LAYERED_WIDTH),
    INT(maxSurface1DLayered[1], MAXIMUM_SURFACE1D_LAYERED_LAYERS),
    INT(maxSurface2DLayered[0], MAXIMUM_SURFACE2D_LAYERED_WIDTH),
    INT(maxSurface2DLayered[1], MAXIMUM_SURFACE2D_LAYERED_HEIGHT),
    INT(maxSurface2DLayered[2], MAXIMUM_SURFACE2D_LAYERED_LAYERS),
    INT(maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH),
    INT(maxSurfaceCubemapLayered[0], MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH),
    INT(maxSurfaceCubemapLayered[1], MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS),
    WIDE(surfaceAlignment, SURFACE_ALIGNMENT),
    INT(concurrentKernels, CONCURRENT_KERNELS),
    INT(ECCEnabled, ECC_ENABLED),
    INT(pciBusID, PCI_BUS_ID),
    INT(pciDeviceID, PCI_DEVICE_ID),
    INT(pciDomainID, PCI_DOMAIN_ID),
    INT(tccDriver, TCC_DRIVER),
    INT(asyncEngineCount, ASYNC_ENGINE_COUNT),
    INT(unifiedAddressing, UNIFIED_ADDRESSING),
    INT(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
    INT(l2CacheSize, L2_CACHE_SIZE),
    INT(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE),
    INT(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
    INT(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
    INT(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED),
    INT(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED),
    WIDE(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
    INT(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
    INT(managedMemory, MANAGED_MEMORY),
    INT(isMultiGpuBoard, MULTI_GPU_BOARD),
    INT(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID),
    INT(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED),
    INT(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS),
    INT(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS),
    INT(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
    INT(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
    INT(cooperativeLaunch, COOPERATIVE_LAUNCH),
    WIDE(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    INT(pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
    INT(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST),
    INT(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
    INT(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE),
    WIDE(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK),
    INT(hostRegisterSupported, HOST_REGISTER_SUPPORTED),
    INT(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED),
    INT(hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED),
    INT(timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED),
    INT(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED),
    INT(gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED),
    INT(gpuDirectRDMAFlushWritesOptions, GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS),
    INT(gpuDirectRDMAWritesOrdering, GPU_DIRECT_RDMA_WRITES_ORDERING),
    INT(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES),
    INT(deferredMappingCudaArraySupported, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED),
    INT(ipcEventSupported, IPC_EVENT_SUPPORTED),
    INT(clusterLaunch, CLUSTER_LAUNCH),
    INT(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS),
    INT(deviceNumaConfig, NUMA_CONFIG),
    INT(deviceNumaId, NUMA_ID),
    INT(mpsEnabled, MPS_ENABLED),
    INT(hostNumaId, HOST_NUMA_ID),
    INT(gpuPciDeviceID, GPU_PCI_DEVICE_ID),
    INT(gpuPciSubsystemID, GPU_PCI_SUBSYSTEM_ID),
    INT(hostNumaMultinodeIpcSupported, HOST_NUMA_MULTINODE_IPC_SUPPORTED),
};
#undef INT
#undef WIDE

CUresult fill_in(cudaDeviceProp& prop, CUdevice device) {
    std::memset(&prop, 0, sizeof prop);
    if (CUresult answer = cuDeviceGetName(prop.name, sizeof prop.name, device)) return answer;
    cuDeviceGetUuid_v2(reinterpret_cast<CUuuid*>(&prop.uuid), device);
    cuDeviceGetLuid(prop.luid, &prop.luidDeviceNodeMask, device);
    cuDeviceTotalMem(&prop.totalGlobalMem, device);
    for (const Property& each : properties) {
        int value = 0;
        if (cuDeviceGetAttribute(&value, each.attribute, device)) continue;  // newer than the profile: stays zero
        char* field = reinterpret_cast<char*>(&prop) + each.offset;
        const size_t wide = size_t(value);
        if (each.wide)
            std::memcpy(field, &wide, sizeof wide);
        else
            std::memcpy(field, &value, sizeof value);
    }
    return CUDA_SUCCESS;
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
    return started([&] { return cuDeviceGetCount(count); });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
    return started([&] { return prop ? fill_in(*prop, device) : CUDA_ERROR_INVALID_VALUE; });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    return started([&] { return cuDeviceGetAttribute(value, CUdevice_attribute(attribute), device); });
}

// The first device that has as much as is asked for, or the first.
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* asked) {
    return started([&] {
        int count = 0;
        if (!device || !asked) return CUDA_ERROR_INVALID_VALUE;
        if (CUresult answer = cuDeviceGetCount(&count)) return answer;
        *device = 0;
        for (int each = 0; each < count; ++each) {
            cudaDeviceProp has;
            if (CUresult answer = fill_in(has, each)) return answer;
            if (has.major * 10 + has.minor < asked->major * 10 + asked->minor) continue;
            if (has.totalGlobalMem < asked->totalGlobalMem || has.multiProcessorCount < asked->multiProcessorCount)
                continue;
            *device = each;
            break;
        }
        return CUDA_SUCCESS;
    });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) {
    return started([&] { return cuDeviceGetByPCIBusId(device, id); });
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int device) {
    return started([&] { return cuDeviceGetPCIBusId(id, bytes, device); });
}

cudaError_t cudaDriverGetVersion(int* version) { return note(cuDriverGetVersion(version)); }
cudaError_t cudaRuntimeGetVersion(int* version) {
    if (!version) return note(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaProfilerStart() {
    return in_context([] { return cuProfilerStart(); });
}
cudaError_t cudaProfilerStop() {
    return in_context([] { return cuProfilerStop(); });
}

// --- the driver's functions by name

static cudaError_t driver_function(const char* name, void** function, int version, unsigned long long flags,
                                   cudaDriverEntryPointQueryResult* status) {
    return started([&] {
        CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SUCCESS;
        const CUresult answer = cuGetProcAddress(name, function, version, flags, &result);
        if (status) *status = cudaDriverEntryPointQueryResult(result);
        return answer;
    });
}

cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
    return driver_function(name, function, CUDART_VERSION, flags, status);
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
    return driver_function(name, function, int(version), flags, status);
}
