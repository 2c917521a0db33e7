// Allocation: device, pinned, registered and managed memory, and what can be asked about a pointer.
#include <algorithm>

#include "driver/driver.h"

namespace softcuda::driver {

namespace {

constexpr size_t pitch_alignment = 512;  // what cuMemAllocPitch rounds rows to on current hardware

bool is_host(MemoryKind kind) { return kind == MemoryKind::pinned || kind == MemoryKind::registered; }

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

const Allocation* lookup(const Memory::View& view, uint64_t address) {
    return address ? Memory::find(view, address) : nullptr;
}

uint64_t allocate(const std::shared_ptr<Context>& context, size_t bytes, MemoryKind kind, const char* label) {
    require(bytes > 0);
    return device().memory.allocate(bytes, kind, label, 256, context->serial);
}

// The allocation that starts at `address` and is one of the kinds that `accept` names, or CUDA_ERROR_INVALID_VALUE.
template <class Accept>
Allocation base_of(uint64_t address, Accept accept) {
    auto view = device().memory.view();
    const Allocation* allocation = lookup(*view, address);
    require(allocation && allocation->base == address && accept(allocation->kind));
    return *allocation;
}

bool freeable(MemoryKind kind) { return kind == MemoryKind::device || kind == MemoryKind::managed; }

}  // namespace
}  // namespace softcuda::driver

using namespace softcuda::driver;
using softcuda::Allocation;
using softcuda::MemoryKind;

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
    return in_context([&](auto&) {
        const auto& memory = device().memory;
        if (total) *total = memory.capacity();
        if (free) *free = memory.capacity() - std::min(memory.capacity(), memory.used());
    });
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
    return in_context([&](auto& context) {
        require(address);
        *address = allocate(context, bytes, MemoryKind::device, "cuMemAlloc");
    });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element) {
    return in_context([&](auto& context) {
        require(address && pitch && width && height && (element == 4 || element == 8 || element == 16));
        require(width <= SIZE_MAX - pitch_alignment, CUDA_ERROR_OUT_OF_MEMORY);
        size_t row = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
        require(height <= SIZE_MAX / row, CUDA_ERROR_OUT_OF_MEMORY);
        *address = allocate(context, row * height, MemoryKind::device, "cuMemAllocPitch");
        *pitch = row;
    });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
    return in_context([&](auto& context) {
        require(address && (flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST));
        *address = allocate(context, bytes, MemoryKind::managed, "cuMemAllocManaged");
    });
}

// Freeing waits for the work that may still use the memory, as on hardware.
CUresult cuMemFree_v2(CUdeviceptr address) {
    return in_context([&](auto& context) {
        if (!address) return;
        base_of(address, freeable);
        synchronize(context);
        require(device().memory.release(address));
    });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
    return in_context([&](auto& context) {
        require(address);
        stream_of(context, stream);
        *address = allocate(context, bytes, MemoryKind::device, "cuMemAllocAsync");
    });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
    return in_context([&](auto& context) {
        auto stream = stream_of(context, handle);
        if (!address) return;
        base_of(address, freeable);
        Scheduler::get().submit(context, *stream, Engine::copy, [address] { device().memory.release(address); });
    });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
    return in_context([&](auto&) {
        auto view = device().memory.view();
        const Allocation* allocation = lookup(*view, address);
        require(allocation, CUDA_ERROR_NOT_FOUND);
        if (base) *base = allocation->base;
        if (bytes) *bytes = allocation->bytes;
    });
}

// --- host memory that the device sees

CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
    return in_context([&](auto& context) {
        require(out);
        require((flags &
                 ~unsigned(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)) == 0);
        *out = pointer(allocate(context, bytes, MemoryKind::pinned, "cuMemHostAlloc"));
        std::lock_guard lock(context->mutex);
        context->host_flags[*out] = flags | CU_MEMHOSTALLOC_DEVICEMAP;  // always so under unified addressing
    });
}

CUresult cuMemAllocHost_v2(void** out, size_t bytes) { return cuMemHostAlloc(out, bytes, 0); }

CUresult cuMemFreeHost(void* host) {
    return in_context([&](auto& context) {
        auto address = reinterpret_cast<uint64_t>(host);
        base_of(address, [](MemoryKind kind) { return kind == MemoryKind::pinned; });
        synchronize(context);
        require(device().memory.release(address));
        std::lock_guard lock(context->mutex);
        context->host_flags.erase(host);
    });
}

CUresult cuMemHostRegister_v2(void* host, size_t bytes, unsigned flags) {
    return in_context([&](auto& context) {
        require(host && bytes);
        require((flags & ~unsigned(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                   CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY)) == 0);
        auto address = reinterpret_cast<uint64_t>(host);
        require(address + bytes > address);
        auto view = device().memory.view();
        for (const Allocation& other : *view)
            require(other.end() <= address || address + bytes <= other.base, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        device().memory.adopt(host, bytes, MemoryKind::registered, "cuMemHostRegister");
        std::lock_guard lock(context->mutex);
        context->host_flags[host] = flags | CU_MEMHOSTREGISTER_DEVICEMAP;
        context->registered.push_back(host);
    });
}

CUresult cuMemHostUnregister(void* host) {
    return in_context([&](auto& context) {
        auto address = reinterpret_cast<uint64_t>(host);
        auto view = device().memory.view();
        const Allocation* allocation = lookup(*view, address);
        require(allocation && allocation->base == address && allocation->kind == MemoryKind::registered,
                CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        synchronize(context);
        device().memory.release(address);
        std::lock_guard lock(context->mutex);
        context->host_flags.erase(host);
        std::erase(context->registered, host);
    });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* host, unsigned flags) {
    return in_context([&](auto&) {
        require(address && host && flags == 0);
        auto view = device().memory.view();
        const Allocation* allocation = lookup(*view, reinterpret_cast<uint64_t>(host));
        require(allocation && (is_host(allocation->kind) || allocation->kind == MemoryKind::managed));
        *address = reinterpret_cast<CUdeviceptr>(host);
    });
}

CUresult cuMemHostGetFlags(unsigned* flags, void* host) {
    return in_context([&](auto& context) {
        require(flags && host);
        std::lock_guard lock(context->mutex);
        auto it = context->host_flags.find(host);
        require(it != context->host_flags.end());
        *flags = it->second;
    });
}

// Hints about managed memory: there is one memory, so nothing moves.
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation, unsigned flags, CUstream handle) {
    return in_context([&](auto& context) {
        auto stream = stream_of(context, handle);
        require(flags == 0 && device().memory.contains(address, bytes));
        Scheduler::get().submit(context, *stream, Engine::none, {});
    });
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise, CUmemLocation) {
    return in_context([&](auto&) { require(device().memory.contains(address, bytes)); });
}

// --- what a pointer is

namespace {

// False: this attribute needs an allocation, and there is none.
bool pointer_attribute(const Allocation* allocation, CUdeviceptr address, CUpointer_attribute which, void* out) {
    auto put = [out]<class T>(T value) { *static_cast<T*>(out) = value; };
    if (which == CU_POINTER_ATTRIBUTE_MAPPED) return put(int(allocation != nullptr)), true;
    if (!allocation) return false;
    bool managed = allocation->kind == MemoryKind::managed, host = is_host(allocation->kind);
    switch (which) {
        case CU_POINTER_ATTRIBUTE_CONTEXT: put(reinterpret_cast<CUcontext>(current_context()->handle)); break;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: put(unsigned(host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE)); break;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: put(address); break;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            if (!host && !managed) return false;
            put(pointer(address));
            break;
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: put(int(0)); break;
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: put(static_cast<unsigned long long>(allocation->serial)); break;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED: put(unsigned(managed)); break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: put(int(0)); break;
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: put(int(0)); break;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: put(pointer(allocation->base)); break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: put(size_t(allocation->bytes)); break;
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: put(0ull); break;
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: put(unsigned(CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE)); break;
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: put(CUmemoryPool(nullptr)); break;
        default: fail(CUDA_ERROR_INVALID_VALUE);
    }
    return true;
}

}  // namespace

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    return in_context([&](auto&) {
        require(data);
        auto view = device().memory.view();
        require(pointer_attribute(lookup(*view, address), address, attribute, data));
    });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
    return in_context([&](auto&) {
        require(count && attributes && data);
        auto view = device().memory.view();
        for (unsigned i = 0; i < count; ++i) {
            require(data[i]);
            if (pointer_attribute(lookup(*view, address), address, attributes[i], data[i])) continue;
            // What does not apply to this pointer answers zero, in the attribute's own width.
            switch (attributes[i]) {
                case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
                case CU_POINTER_ATTRIBUTE_IS_MANAGED: *static_cast<unsigned*>(data[i]) = 0; break;
                case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(data[i]) = -2; break;
                case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
                case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
                case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
                case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
                case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: *static_cast<int*>(data[i]) = 0; break;
                default: *static_cast<void**>(data[i]) = nullptr;
            }
        }
    });
}
