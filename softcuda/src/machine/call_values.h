// Arguments and results of a builtin, lane by lane, and the memory that they point to.
#pragma once

#include <algorithm>
#include <cstring>

#include "machine/block.h"

namespace softcuda {

template <class T>
T argument(const Warp& warp, const Op& op, size_t index, int lane) {
    const CallSite& site = *static_cast<const CallSite*>(op.extra);
    T value{};
    if (index >= site.params.size()) return value;
    const Slot& slot = site.params[index];
    std::memcpy(&value, warp.frame + slot.offset + static_cast<uint32_t>(lane) * slot.bytes,
                std::min<size_t>(sizeof value, slot.bytes));
    return value;
}

template <class T>
void give_back(Warp& warp, const Op& op, int lane, T value) {
    const CallSite& site = *static_cast<const CallSite*>(op.extra);
    if (site.returns.empty()) return;
    const Slot& slot = site.returns[0];
    std::memcpy(warp.frame + slot.offset + static_cast<uint32_t>(lane) * slot.bytes, &value,
                std::min<size_t>(sizeof value, slot.bytes));
}

// Host memory behind a generic address, or null if not all `bytes` of it are there.
std::byte* host_memory(Warp& warp, int lane, uint64_t address, uint64_t bytes);

}  // namespace softcuda
