// Advice about managed memory.  There is one memory, so nothing moves; what was advised can be asked for.
#include "driver/driver.h"

namespace softcuda::driver {

namespace {

constexpr int nowhere = CU_DEVICE_INVALID;

struct Advice {
    uint64_t serial = 0;  // of the allocation it was given for
    bool read_mostly = false;
    CUmemLocation preferred{CU_MEM_LOCATION_TYPE_INVALID, nowhere}, prefetched{CU_MEM_LOCATION_TYPE_INVALID, nowhere};
    std::set<int> accessed_by;
};

std::mutex advice_mutex;
std::map<uint64_t, Advice> advised;  // by base address

Located managed(CUdeviceptr address, size_t bytes) {
    Located found = locate(address);
    require(bytes && found.holds(address, bytes) && found->kind == MemoryKind::managed);
    return found;
}

Advice& advice_for(const Located& found) {  // with advice_mutex held
    Advice& advice = advised[found->base];
    if (advice.serial != found->serial) {
        advice = {};
        advice.serial = found->serial;
    }
    return advice;
}

CUmemLocation known(CUmemLocation location) {
    switch (location.type) {
        case CU_MEM_LOCATION_TYPE_DEVICE: device(location.id); break;
        case CU_MEM_LOCATION_TYPE_HOST: location.id = CU_DEVICE_CPU; break;
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}; break;
        default: fail(CUDA_ERROR_INVALID_VALUE);
    }
    return location;
}

int ordinal_of(const CUmemLocation& location) {
    return location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ? nowhere : location.id;
}

void answer(void* data, size_t size, CUmem_range_attribute attribute, const Located& found) {
    require(data && size >= 4 && size % 4 == 0);
    std::lock_guard lock(advice_mutex);
    const Advice& advice = advice_for(found);
    int* out = static_cast<int*>(data);
    if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
        auto next = advice.accessed_by.begin();
        for (size_t i = 0; i < size / 4; ++i) out[i] = next == advice.accessed_by.end() ? nowhere : *next++;
        return;
    }
    require(size == 4);
    switch (attribute) {
        case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: *out = advice.read_mostly; break;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: *out = ordinal_of(advice.preferred); break;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: *out = int(advice.preferred.type); break;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: *out = advice.preferred.id; break;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: *out = ordinal_of(advice.prefetched); break;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: *out = int(advice.prefetched.type); break;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: *out = advice.prefetched.id; break;
        default: fail(CUDA_ERROR_INVALID_VALUE);
    }
}

}  // namespace
}  // namespace softcuda::driver

using namespace softcuda::driver;

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                               CUstream handle) {
    return in_context([&](auto& context) {
        auto stream = stream_of(context, handle);
        require(flags == 0);
        Located found = managed(address, bytes);
        location = known(location);
        Scheduler::get().submit(context, *stream, Engine::none, {});
        std::lock_guard lock(advice_mutex);
        advice_for(found).prefetched = location;
    });
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise what, CUmemLocation location) {
    return in_context([&](auto&) {
        Located found = managed(address, bytes);
        bool of_place = what >= CU_MEM_ADVISE_SET_PREFERRED_LOCATION && what != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
        if (of_place) location = known(location);
        std::lock_guard lock(advice_mutex);
        Advice& advice = advice_for(found);
        switch (what) {
            case CU_MEM_ADVISE_SET_READ_MOSTLY: advice.read_mostly = true; break;
            case CU_MEM_ADVISE_UNSET_READ_MOSTLY: advice.read_mostly = false; break;
            case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: advice.preferred = location; break;
            case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: advice.preferred = Advice().preferred; break;
            case CU_MEM_ADVISE_SET_ACCESSED_BY: advice.accessed_by.insert(location.id); break;
            case CU_MEM_ADVISE_UNSET_ACCESSED_BY: advice.accessed_by.erase(location.id); break;
            default: fail(CUDA_ERROR_INVALID_VALUE);
        }
    });
}

CUresult cuMemRangeGetAttribute(void* data, size_t size, CUmem_range_attribute attribute, CUdeviceptr address,
                                size_t bytes) {
    return in_context([&](auto&) { answer(data, size, attribute, managed(address, bytes)); });
}

CUresult cuMemRangeGetAttributes(void** data, size_t* sizes, CUmem_range_attribute* attributes, size_t count,
                                 CUdeviceptr address, size_t bytes) {
    return in_context([&](auto&) {
        require(data && sizes && attributes && count);
        Located found = managed(address, bytes);
        for (size_t i = 0; i < count; ++i) answer(data[i], sizes[i], attributes[i], found);
    });
}
