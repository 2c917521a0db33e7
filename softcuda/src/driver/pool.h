// Memory pools: what cuMemAllocAsync gives out, in the order of a stream.
#pragma once

#include <map>
#include <mutex>

#include "driver/driver.h"

namespace softcuda::driver {

struct Pool : Object {  // CUmemoryPool; belongs to a device, not to a context
    Device* gpu = nullptr;
    MemoryKind kind = MemoryKind::device;
    CUmemLocation location{};
    CUmemAllocationType type = CU_MEM_ALLOCATION_TYPE_PINNED;
    size_t limit = 0;  // bytes in use, at most; 0: what there is

    struct Freed {  // a stream will come to its free, or has: then the pool keeps it
        Allocation allocation;
        uint64_t room = 0;  // bytes it can hold
        const Stream* stream = nullptr;
        TaskRef task;
        bool submitted = false;
        bool done() const { return submitted && Scheduler::get().done(task); }
    };
    std::mutex mutex;  // guards what follows
    bool destroyed = false;
    std::map<uint64_t, uint64_t> live;  // base -> bytes it can hold
    std::vector<std::shared_ptr<Freed>> freed;
    uint64_t used = 0, used_high = 0, reserved_high = 0, threshold = 0;
    int follow_events = 1, opportunistic = 1, internal_dependencies = 1;
    uint32_t readers = 0;  // other devices that have access, a bit each

    uint64_t reserved() const;  // in use or kept
    void trim(uint64_t keep);   // gives back what is kept, until no more than `keep` bytes are reserved
};

std::shared_ptr<Pool> default_pool(Device& gpu);
void allocate(std::shared_ptr<Context> context, const std::shared_ptr<Pool>& pool, CUstream stream, size_t bytes,
              CUdeviceptr* address);
std::shared_ptr<Pool> pool_of(uint64_t base);  // that an allocation in use came from, or null
void free_now(const std::shared_ptr<Pool>& pool, uint64_t base);
void trim_pools(bool all);  // to their thresholds, as at every synchronisation; or of all that is not in use

}  // namespace softcuda::driver
