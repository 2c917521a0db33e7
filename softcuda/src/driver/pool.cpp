// Stream-ordered allocation.  An address is given out, and may be used, from the call on; a free takes effect when its
// stream comes to it, and a kernel that starts later and uses the memory faults.
#include "driver/pool.h"

#include <algorithm>
#include <atomic>

namespace softcuda::driver {

namespace {

std::mutex pools_mutex;
std::vector<std::shared_ptr<Pool>> pools;  // destroyed ones too, while anything of theirs is in use
std::atomic<int> pool_count{0};

std::vector<std::shared_ptr<Pool>> all_pools() {
    std::lock_guard lock(pools_mutex);
    return pools;
}

std::shared_ptr<Pool> make_pool(Device& gpu, CUmemLocation location) {
    auto pool = std::make_shared<Pool>();
    pool->gpu = &gpu;
    pool->location = location;
    handles().add<CUmemoryPool>(pool);
    std::lock_guard lock(pools_mutex);
    pools.push_back(pool);
    ++pool_count;
    return pool;
}

void forget(const std::shared_ptr<Pool>& pool) {
    std::lock_guard lock(pools_mutex);
    std::erase(pools, pool);
    --pool_count;
}

std::shared_ptr<Pool> current_pool(Device& gpu) {
    auto usual = default_pool(gpu);
    std::lock_guard lock(gpu.pool_mutex);
    return gpu.pool ? gpu.pool : usual;
}

// What this stream has freed, or any stream that has come to the free, is given out again, as on hardware.
uint64_t reuse(Pool& pool, const Stream& stream, uint64_t bytes) {
    for (auto it = pool.freed.begin(); it != pool.freed.end(); ++it) {
        Pool::Freed& freed = **it;
        uint64_t base = freed.allocation.base, room = freed.room;
        bool done = freed.done(), own = freed.stream == &stream;
        if (!done && own && freed.allocation.bytes == bytes) {
            // Earlier work of the stream may be at it still; the free will find that it is not wanted any more.
        } else if (done && (own || pool.opportunistic) && room >= bytes && room / 2 <= bytes) {
            freed.allocation.bytes = bytes;
            freed.allocation.readers = pool.readers;
            pool.gpu->memory.put(freed.allocation, "cuMemAllocAsync");
        } else {
            continue;
        }
        pool.freed.erase(it);
        pool.live[base] = room;
        return base;
    }
    return 0;
}

uint64_t fresh(Pool& pool, uint64_t bytes) {
    Memory& memory = pool.gpu->memory;
    if (memory.used() + (pool.reserved() - pool.used) + bytes > memory.capacity()) pool.trim(0);
    uint64_t base = memory.allocate(bytes, pool.kind, "cuMemAllocAsync");
    if (pool.readers) memory.open_to(base, pool.readers);
    pool.live[base] = bytes;
    return base;
}

// The bytes that were asked for; the pool's mutex is held.
uint64_t give_up(Pool& pool, uint64_t base) {
    pool.live.erase(base);
    auto view = pool.gpu->memory.view();
    const Allocation* allocation = Memory::find(*view, base);
    uint64_t bytes = allocation ? allocation->bytes : 0;
    pool.used -= std::min(pool.used, bytes);
    return bytes;
}

void free_in_order(std::shared_ptr<Context> context, CUstream handle, uint64_t base) {
    auto stream = stream_of(context, handle);
    auto pool = pool_of(base);
    if (!pool) {  // of cuMemAlloc: an H200 takes it, though the documents say nothing of it
        Located found = locate(base);
        require(found && found->base == base &&
                (found->kind == MemoryKind::device || found->kind == MemoryKind::managed));
        Scheduler::get().submit(context, *stream, Engine::copy,
                                [gpu = found.device, base] { gpu->memory.release(base); });
        return;
    }
    auto freed = std::make_shared<Pool::Freed>();
    {
        std::lock_guard lock(pool->mutex);
        require(pool->live.contains(base));
        freed->allocation = *locate(base).allocation;
        freed->room = pool->live[base];
        freed->stream = stream.get();
        give_up(*pool, base);
        pool->freed.push_back(freed);
    }
    // Not with the lock held: a full queue moves on only when an engine gets it.
    TaskRef task = Scheduler::get().submit(context, *stream, Engine::copy, [pool, freed] {
        std::lock_guard lock(pool->mutex);
        bool given_out_again = std::find(pool->freed.begin(), pool->freed.end(), freed) == pool->freed.end();
        if (!given_out_again) pool->gpu->memory.take(freed->allocation.base);
    });
    std::lock_guard lock(pool->mutex);
    freed->task = task;
    freed->submitted = true;
}

}  // namespace

uint64_t Pool::reserved() const {
    uint64_t bytes = used;
    for (auto& each : freed) bytes += each->room;
    return bytes;
}

void Pool::trim(uint64_t keep) {
    uint64_t held = reserved();
    std::erase_if(freed, [&](auto& each) {
        if (held <= keep || !each->done()) return false;
        held -= each->room;
        return true;
    });
}

std::shared_ptr<Pool> default_pool(Device& gpu) {
    std::lock_guard lock(gpu.pool_mutex);
    if (!gpu.default_pool) gpu.default_pool = make_pool(gpu, {CU_MEM_LOCATION_TYPE_DEVICE, gpu.ordinal});
    return gpu.default_pool;
}

std::shared_ptr<Pool> pool_of(uint64_t base) {
    for (auto& pool : all_pools()) {
        std::lock_guard lock(pool->mutex);
        if (pool->live.contains(base)) return pool;
    }
    return nullptr;
}

void free_now(const std::shared_ptr<Pool>& pool, uint64_t base) {
    std::lock_guard lock(pool->mutex);
    give_up(*pool, base);
    pool->gpu->memory.release(base);
}

void trim_pools(bool all) {
    if (!pool_count) return;
    for (auto& pool : all_pools()) {
        bool over = false;
        {
            std::lock_guard lock(pool->mutex);
            pool->trim(all || pool->destroyed ? 0 : pool->threshold);
            over = pool->destroyed && pool->live.empty() && pool->freed.empty();
        }
        if (over) forget(pool);
    }
}

void allocate(std::shared_ptr<Context> context, const std::shared_ptr<Pool>& pool, CUstream handle, size_t bytes,
              CUdeviceptr* address) {
    require(address && bytes > 0);
    auto stream = stream_of(context, handle);
    require(pool->gpu == context->gpu || pool->kind != MemoryKind::device);
    std::unique_lock lock(pool->mutex);
    require(!pool->limit || (bytes <= pool->limit && pool->used <= pool->limit - bytes), CUDA_ERROR_OUT_OF_MEMORY);
    uint64_t base = reuse(*pool, *stream, bytes);
    if (!base) {
        try {
            base = fresh(*pool, bytes);
        } catch (const std::bad_alloc&) {  // frees that streams have not come to yet
            lock.unlock();
            synchronize(context);
            trim_pools(true);
            lock.lock();
            base = fresh(*pool, bytes);
        }
    }
    pool->used += bytes;
    pool->used_high = std::max(pool->used_high, pool->used);
    pool->reserved_high = std::max(pool->reserved_high, pool->reserved());
    *address = base;
}

}  // namespace softcuda::driver

using namespace softcuda::driver;
namespace driver = softcuda::driver;
using softcuda::MemoryKind;

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
    return in_context([&](auto& context) {
        auto own = context;
        stream_of(own, stream);
        allocate(context, current_pool(*own->gpu), stream, bytes, address);
    });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
    return in_context([&](auto& context) { allocate(context, find<Pool>(pool), stream, bytes, address); });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    return in_context([&](auto& context) {
        if (address)
            free_in_order(context, stream, address);
        else
            stream_of(context, stream);
    });
}

CUresult cuMemPoolCreate(CUmemoryPool* handle, const CUmemPoolProps* wanted) {
    return with_device([&](Device&) {
        require(handle && wanted);
        if (wanted->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
            fail(CUDA_ERROR_NOT_SUPPORTED, "cuMemPoolCreate: sharing memory between processes is not supported");
        bool managed = wanted->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
        require(managed || wanted->allocType == CU_MEM_ALLOCATION_TYPE_PINNED);
        CUmemLocation location = wanted->location;
        Device* gpu = &device();
        MemoryKind kind = managed ? MemoryKind::managed : MemoryKind::device;
        switch (location.type) {
            case CU_MEM_LOCATION_TYPE_DEVICE: gpu = &driver::device(location.id); break;
            case CU_MEM_LOCATION_TYPE_HOST:
            case CU_MEM_LOCATION_TYPE_HOST_NUMA:
            case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
                if (!managed) kind = MemoryKind::pinned;
                break;
            default: require(managed && location.type == CU_MEM_LOCATION_TYPE_NONE);
        }
        auto pool = make_pool(*gpu, location);
        pool->kind = kind;
        pool->type = wanted->allocType;
        pool->limit = wanted->maxSize;
        *handle = reinterpret_cast<CUmemoryPool>(pool->handle);
    });
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
    return with_device([&](Device&) {
        auto pool = find<Pool>(handle);
        {
            std::lock_guard lock(pool->gpu->pool_mutex);
            require(pool != pool->gpu->default_pool);
            if (pool->gpu->pool == pool) pool->gpu->pool = nullptr;
        }
        handles().remove(handle);  // what is in use stays so
        {
            std::lock_guard lock(pool->mutex);
            pool->destroyed = true;
        }
        trim_pools(false);
    });
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) {
    return with_device([&](Device&) {
        auto pool = find<Pool>(handle);
        std::lock_guard lock(pool->mutex);
        pool->trim(keep);
    });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    return with_device([&](Device&) {
        require(value);
        auto pool = find<Pool>(handle);
        std::lock_guard lock(pool->mutex);
        auto number = [&](int is) { *static_cast<int*>(value) = is; };
        auto bytes = [&](uint64_t is) { *static_cast<cuuint64_t*>(value) = is; };
        switch (attribute) {
            case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: number(pool->follow_events); break;
            case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: number(pool->opportunistic); break;
            case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: number(pool->internal_dependencies); break;
            case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: bytes(pool->threshold); break;
            case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: bytes(pool->reserved()); break;
            case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: bytes(pool->reserved_high); break;
            case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: bytes(pool->used); break;
            case CU_MEMPOOL_ATTR_USED_MEM_HIGH: bytes(pool->used_high); break;
            default: fail(CUDA_ERROR_INVALID_VALUE);
        }
    });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    return with_device([&](Device&) {
        require(value);
        auto pool = find<Pool>(handle);
        std::lock_guard lock(pool->mutex);
        int flag = *static_cast<int*>(value) != 0;
        auto reset = [&](uint64_t& high, uint64_t now) {  // marks can be set back, and nothing else
            require(*static_cast<cuuint64_t*>(value) == 0);
            high = now;
        };
        switch (attribute) {
            case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: pool->follow_events = flag; break;
            case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: pool->opportunistic = flag; break;
            case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: pool->internal_dependencies = flag; break;
            case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: pool->threshold = *static_cast<cuuint64_t*>(value); break;
            case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: reset(pool->reserved_high, pool->reserved()); break;
            case CU_MEMPOOL_ATTR_USED_MEM_HIGH: reset(pool->used_high, pool->used); break;
            default: fail(CUDA_ERROR_INVALID_VALUE);
        }
    });
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* map, size_t count) {
    return with_device([&](Device&) {
        auto pool = find<Pool>(handle);
        require(map || !count);
        std::lock_guard lock(pool->mutex);
        uint32_t readers = pool->readers;
        for (size_t i = 0; i < count; ++i) {
            require(map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE);
            Device& peer = driver::device(map[i].location.id);
            uint32_t bit = 1u << peer.ordinal;
            switch (map[i].flags) {
                case CU_MEM_ACCESS_FLAGS_PROT_NONE:
                    require(&peer != pool->gpu);
                    readers &= ~bit;
                    break;
                case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
                    if (&peer == pool->gpu) break;
                    require(pool->kind != MemoryKind::device || can_access_peer(peer, *pool->gpu),
                            CUDA_ERROR_INVALID_DEVICE);
                    readers |= bit;
                    break;
                default: fail(CUDA_ERROR_INVALID_VALUE);
            }
        }
        pool->readers = readers;
        for (auto& [base, _] : pool->live) pool->gpu->memory.open_to(base, readers);
    });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
    return with_device([&](Device&) {
        require(flags && location);
        auto pool = find<Pool>(handle);
        require(location->type == CU_MEM_LOCATION_TYPE_DEVICE);
        Device& peer = driver::device(location->id);
        std::lock_guard lock(pool->mutex);
        bool access = &peer == pool->gpu || pool->readers >> peer.ordinal & 1;
        *flags = access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    });
}

// --- the pools of a device

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* handle, CUdevice ordinal) {
    return with_device([&](Device&) {
        require(handle);
        *handle = reinterpret_cast<CUmemoryPool>(default_pool(driver::device(ordinal))->handle);
    });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* handle, CUdevice ordinal) {
    return with_device([&](Device&) {
        require(handle);
        *handle = reinterpret_cast<CUmemoryPool>(current_pool(driver::device(ordinal))->handle);
    });
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle) {
    return with_device([&](Device&) {
        Device& gpu = driver::device(ordinal);
        auto pool = find<Pool>(handle);
        require(pool->gpu == &gpu && pool->kind == MemoryKind::device);
        std::lock_guard lock(gpu.pool_mutex);
        gpu.pool = pool;
    });
}

static CUdevice device_at(const CUmemLocation* location, CUmemAllocationType type) {
    require(location);
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
        fail(CUDA_ERROR_NOT_SUPPORTED,
             "cuMem…MemPool: only devices have pools of their own; cuMemPoolCreate makes others");
    return location->id;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* handle, CUmemLocation* location, CUmemAllocationType type) {
    return with_device([&](Device&) {
        require(handle);
        *handle = reinterpret_cast<CUmemoryPool>(default_pool(driver::device(device_at(location, type)))->handle);
    });
}

CUresult cuMemGetMemPool(CUmemoryPool* handle, CUmemLocation* location, CUmemAllocationType type) {
    return with_device([&](Device&) {
        require(handle);
        *handle = reinterpret_cast<CUmemoryPool>(current_pool(driver::device(device_at(location, type)))->handle);
    });
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool handle) {
    CUdevice ordinal = -1;
    CUresult found = with_device([&](Device&) { ordinal = device_at(location, type); });
    return found == CUDA_SUCCESS ? cuDeviceSetMemPool(ordinal, handle) : found;
}
