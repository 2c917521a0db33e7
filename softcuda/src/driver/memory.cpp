// Allocation: device, pinned, registered and managed memory, and what can be asked about a pointer.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>

#include "driver/driver.h"
#include "driver/pool.h"
#include "machine/observer.h"

namespace softcuda::driver {

namespace {

constexpr size_t pitch_alignment = 512;  // what cuMemAllocPitch rounds rows to on current hardware

bool is_host(MemoryKind kind) { return kind == MemoryKind::pinned || kind == MemoryKind::registered; }

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

// Once: programs may ask for more and more until there is none.
void say_why_full(const Memory& memory, size_t bytes, const char* label) {
    static std::atomic<bool> said{false};
    if (quiet() || said.exchange(true)) return;
    say(std::string(label) + ": out of memory: " + std::to_string(bytes) + " bytes asked for, " +
        std::to_string(memory.capacity() - std::min(memory.capacity(), memory.used())) + " of " +
        std::to_string(memory.capacity()) + " free; SOFTCUDA_MEMORY=8G gives the device 8 GiB");
}

uint64_t allocate(const std::shared_ptr<Context>& context, size_t bytes, MemoryKind kind, const char* label) {
    require(bytes > 0);
    uint64_t address = 0;
    try {
        address = context->gpu->memory.allocate(bytes, kind, label, 256, context->serial);
    } catch (const std::bad_alloc&) {
        // What freed memory the pools keep, or will get once their streams are there, is for everybody.
        synchronize(context);
        trim_pools(true);
        try {
            address = context->gpu->memory.allocate(bytes, kind, label, 256, context->serial);
        } catch (const std::bad_alloc&) {
            say_why_full(context->gpu->memory, bytes, label);
            throw;
        }
    }
    if (auto* observer = context->gpu->machine.observer()) observer->allocated(address, bytes);
    return address;
}

// The allocation that starts at `address` and is one of the kinds that `accept` names, or CUDA_ERROR_INVALID_VALUE.
template <class Accept>
Located base_of(uint64_t address, Accept accept) {
    Located found = locate(address);
    require(found && found->base == address && accept(found->kind));
    return found;
}

// Waits for the work that may still use what is to be freed: of this context, and of the one that owns it.
void wait_for_users(const std::shared_ptr<Context>& context, const Located& found) {
    synchronize(context);
    if (found->context == context->serial) return;
    if (auto owner = context_of(found->context)) Scheduler::get().drain(*owner);
}

// All of it is there, and not a device's: what a kernel is let near must not end the process.
bool is_mapped(uint64_t begin, uint64_t end, bool to_write) {
    if (softcuda::never_the_hosts(begin)) return false;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; begin < end && std::getline(maps, line);) {  // in order: 7f0000-7f2000 rw-p …
        char* rest = nullptr;
        const uint64_t from = std::strtoull(line.c_str(), &rest, 16), to = std::strtoull(rest + 1, &rest, 16);
        if (begin < from) return false;
        if (begin < to && rest[1] == 'r' && (rest[2] == 'w' || !to_write)) begin = to;
    }
    return begin >= end;
}

bool freeable(MemoryKind kind) { return kind == MemoryKind::device || kind == MemoryKind::managed; }

}  // namespace
}  // namespace softcuda::driver

using namespace softcuda::driver;
using softcuda::Allocation;
using softcuda::MemoryKind;

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
    return in_context([&](auto& context) {
        const auto& memory = context->gpu->memory;
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
        Located found = base_of(address, freeable);
        wait_for_users(context, found);
        if (auto pool = pool_of(address))
            free_now(pool, address);
        else
            require(found.device->memory.release(address));
    });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
    return in_context([&](auto&) {
        Located allocation = locate(address);
        require(bool(allocation), CUDA_ERROR_NOT_FOUND);
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
        Located found = base_of(address, [](MemoryKind kind) { return kind == MemoryKind::pinned; });
        wait_for_users(context, found);
        require(found.device->memory.release(address));
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
        for (Device* each : all_devices()) {
            auto view = each->memory.view();
            for (const Allocation& other : *view)
                require(other.end() <= address || address + bytes <= other.base,
                        CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        }
        require(is_mapped(address, address + bytes, !(flags & CU_MEMHOSTREGISTER_READ_ONLY)));
        context->gpu->memory.adopt(host, bytes, MemoryKind::registered, "cuMemHostRegister");
        std::lock_guard lock(context->mutex);
        context->host_flags[host] = flags | CU_MEMHOSTREGISTER_DEVICEMAP;
        context->registered.push_back(host);
    });
}

CUresult cuMemHostUnregister(void* host) {
    return in_context([&](auto& context) {
        auto address = reinterpret_cast<uint64_t>(host);
        Located allocation = locate(address);
        require(allocation && allocation->base == address && allocation->kind == MemoryKind::registered,
                CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        wait_for_users(context, allocation);
        allocation.device->memory.release(address);
        std::lock_guard lock(context->mutex);
        context->host_flags.erase(host);
        std::erase(context->registered, host);
    });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* host, unsigned flags) {
    return in_context([&](auto&) {
        require(address && host && flags == 0);
        Located allocation = locate(reinterpret_cast<uint64_t>(host));
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

// --- what a pointer is

namespace {

// Allocations, by serial, whose copies are to be synchronous; host memory's are as it is.
std::mutex sync_mutex;
std::set<uint64_t> synchronous;

// False: this attribute needs an allocation, and there is none.
bool pointer_attribute(const Located& allocation, CUdeviceptr address, CUpointer_attribute which, void* out) {
    auto put = [out]<class T>(T value) { *static_cast<T*>(out) = value; };
    if (which == CU_POINTER_ATTRIBUTE_MAPPED) return put(int(bool(allocation))), true;
    if (!allocation) return false;
    bool managed = allocation->kind == MemoryKind::managed, host = is_host(allocation->kind);
    switch (which) {
        case CU_POINTER_ATTRIBUTE_CONTEXT: {
            auto owner = context_of(allocation->context);
            put(reinterpret_cast<CUcontext>(owner ? owner->handle : current_context()->handle));
            break;
        }
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: put(unsigned(host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE)); break;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: put(address); break;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            if (!host && !managed) return false;
            put(pointer(address));
            break;
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: {
            std::lock_guard lock(sync_mutex);
            put(unsigned(synchronous.contains(allocation->serial)));
            break;
        }
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
            put(static_cast<unsigned long long>(allocation->serial) | uint64_t(allocation.device->ordinal) << 48);
            break;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED: put(unsigned(managed)); break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: put(int(allocation.device->ordinal)); break;
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: put(int(0)); break;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: put(pointer(allocation->base)); break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: put(size_t(allocation->bytes)); break;
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: put(0ull); break;
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: put(unsigned(CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE)); break;
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: {
            auto pool = pool_of(allocation->base);
            put(reinterpret_cast<CUmemoryPool>(pool ? pool->handle : 0));
            break;
        }
        default: fail(CUDA_ERROR_INVALID_VALUE);
    }
    return true;
}

}  // namespace

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    return in_context([&](auto&) {
        require(data);
        require(pointer_attribute(locate(address), address, attribute, data));
    });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
    return in_context([&](auto&) {
        require(count && attributes && data);
        Located found = locate(address);
        for (unsigned i = 0; i < count; ++i) {
            require(data[i]);
            if (pointer_attribute(found, address, attributes[i], data[i])) continue;
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

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
    return in_context([&](auto&) {
        require(value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
        Located found = locate(address);
        require(found && !is_host(found->kind));
        std::lock_guard lock(sync_mutex);
        if (*static_cast<const unsigned*>(value))
            synchronous.insert(found->serial);
        else
            synchronous.erase(found->serial);
    });
}
