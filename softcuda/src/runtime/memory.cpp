// Allocation: device, pitched, pinned, registered and managed memory, pools, and what a pointer is.
#include <cstring>

#include "runtime/runtime.h"

using namespace softcuda::runtime;

namespace {

CUdeviceptr* out(void** pointer) { return reinterpret_cast<CUdeviceptr*>(pointer); }

// An allocation of nothing is a null pointer, and no error.
template <class Allocate>
cudaError_t allocate(void** pointer, size_t bytes, Allocate allocate) {
    return in_context([&] {
        if (!pointer) return CUDA_ERROR_INVALID_VALUE;
        *pointer = nullptr;
        return bytes ? allocate() : CUDA_SUCCESS;
    });
}

CUmemLocation* location(cudaMemLocation* place) { return reinterpret_cast<CUmemLocation*>(place); }
CUmemLocation location(cudaMemLocation place) { return {CUmemLocationType(int(place.type)), place.id}; }

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
    return allocate(pointer, bytes, [&] { return cuMemAlloc(out(pointer), bytes); });
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
    if (!bytes) return note(cudaErrorInvalidValue);
    return allocate(pointer, bytes, [&] { return cuMemAllocManaged(out(pointer), bytes, flags); });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
    if (!pitch) return note(cudaErrorInvalidValue);
    *pitch = 0;
    return allocate(pointer, width && height, [&] { return cuMemAllocPitch(out(pointer), pitch, width, height, 4); });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
    if (!memory) return note(cudaErrorInvalidValue);
    size_t rows = 0;
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) return note(cudaErrorMemoryAllocation);
    memory->xsize = extent.width;
    memory->ysize = extent.height;
    return cudaMallocPitch(&memory->ptr, &memory->pitch, extent.width, rows);
}

cudaError_t cudaFree(void* pointer) {
    return in_context([&] { return cuMemFree(address(pointer)); });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    return in_context([&] { return cuMemGetInfo(free, total); });
}

// --- memory of the host

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
    return allocate(pointer, bytes, [&] { return cuMemHostAlloc(pointer, bytes, flags); });
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return cudaHostAlloc(pointer, bytes, 0); }
cudaError_t cudaFreeHost(void* pointer) {
    return in_context([&] { return pointer ? cuMemFreeHost(pointer) : CUDA_SUCCESS; });
}
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
    return in_context([&] { return cuMemHostRegister(pointer, bytes, flags); });
}
cudaError_t cudaHostUnregister(void* pointer) {
    return in_context([&] { return cuMemHostUnregister(pointer); });
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
    return in_context([&] { return cuMemHostGetDevicePointer(out(device), host, flags); });
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
    return in_context([&] { return cuMemHostGetFlags(flags, host); });
}

// --- managed memory

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation place, unsigned flags,
                                 cudaStream_t stream) {
    return in_context([&] { return cuMemPrefetchAsync_v2(address(pointer), bytes, location(place), flags, stream); });
}
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation place) {
    return in_context([&] { return cuMemAdvise_v2(address(pointer), bytes, CUmem_advise(advice), location(place)); });
}
cudaError_t cudaMemRangeGetAttribute(void* data, size_t bytes, cudaMemRangeAttribute attribute, const void* pointer,
                                     size_t count) {
    return in_context(
        [&] { return cuMemRangeGetAttribute(data, bytes, CUmem_range_attribute(attribute), address(pointer), count); });
}
cudaError_t cudaMemRangeGetAttributes(void** data, size_t* sizes, cudaMemRangeAttribute* attributes, size_t number,
                                      const void* pointer, size_t count) {
    return in_context([&] {
        return cuMemRangeGetAttributes(data, sizes, reinterpret_cast<CUmem_range_attribute*>(attributes), number,
                                       address(pointer), count);
    });
}

// --- what a pointer is

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    return in_context([&] {
        if (!attributes) return CUDA_ERROR_INVALID_VALUE;
        std::memset(attributes, 0, sizeof *attributes);
        unsigned type = 0, managed = 0;
        CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                       CU_POINTER_ATTRIBUTE_HOST_POINTER};
        void* values[] = {&type, &managed, &attributes->device, &attributes->devicePointer, &attributes->hostPointer};
        if (CUresult answer = cuPointerGetAttributes(5, asked, values, address(pointer))) return answer;
        attributes->type = managed                      ? cudaMemoryTypeManaged
                           : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
                           : type                       ? cudaMemoryTypeDevice
                                                        : cudaMemoryTypeUnregistered;
        if (!type && !managed) attributes->hostPointer = const_cast<void*>(pointer);
        return CUDA_SUCCESS;
    });
}

// --- pools

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
    return allocate(pointer, bytes, [&] { return cuMemAllocAsync(out(pointer), bytes, stream); });
}
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    return allocate(pointer, bytes, [&] { return cuMemAllocFromPoolAsync(out(pointer), bytes, pool, stream); });
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    return in_context([&] { return pointer ? cuMemFreeAsync(address(pointer), stream) : CUDA_SUCCESS; });
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
    static_assert(sizeof(cudaMemPoolProps) == sizeof(CUmemPoolProps));
    return in_context([&] { return cuMemPoolCreate(pool, reinterpret_cast<const CUmemPoolProps*>(properties)); });
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return in_context([&] { return cuMemPoolDestroy(pool); });
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
    return in_context([&] { return cuMemPoolTrimTo(pool, keep); });
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    return in_context([&] { return cuMemPoolSetAttribute(pool, CUmemPool_attribute(attribute), value); });
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    return in_context([&] { return cuMemPoolGetAttribute(pool, CUmemPool_attribute(attribute), value); });
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* accesses, size_t count) {
    static_assert(sizeof(cudaMemAccessDesc) == sizeof(CUmemAccessDesc));
    return in_context(
        [&] { return cuMemPoolSetAccess(pool, reinterpret_cast<const CUmemAccessDesc*>(accesses), count); });
}
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* place) {
    return in_context(
        [&] { return cuMemPoolGetAccess(reinterpret_cast<CUmemAccess_flags*>(flags), pool, location(place)); });
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    return in_context([&] { return cuDeviceGetDefaultMemPool(pool, device); });
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    return in_context([&] { return cuDeviceGetMemPool(pool, device); });
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    return in_context([&] { return cuDeviceSetMemPool(device, pool); });
}
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* place, cudaMemAllocationType type) {
    return in_context([&] { return cuMemGetDefaultMemPool(pool, location(place), CUmemAllocationType(int(type))); });
}
cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* place, cudaMemAllocationType type) {
    return in_context([&] { return cuMemGetMemPool(pool, location(place), CUmemAllocationType(int(type))); });
}
cudaError_t cudaMemSetMemPool(cudaMemLocation* place, cudaMemAllocationType type, cudaMemPool_t pool) {
    return in_context([&] { return cuMemSetMemPool(location(place), CUmemAllocationType(int(type)), pool); });
}
