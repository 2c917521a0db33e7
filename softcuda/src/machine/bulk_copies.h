// What bulk copies of bytes and of tensors share.  Included by lanes_bulk.cpp and lanes_tensor.cpp.
#pragma once

#include <utility>

#include "machine/access.h"

namespace softcuda::SOFTCUDA_LEVEL {

// The same place in another block of the cluster.
template <class T>
inline T* in_block(Warp& warp, const Op& op, int lane, T* place, uint32_t rank) {
    const auto& ranks = warp.block->cluster->ranks;
    auto* at = reinterpret_cast<std::byte*>(place);
    for (const Block* block : ranks) {
        if (!block || at < block->shared || at >= block->shared + block->shared_bytes) continue;
        if (rank >= ranks.size() || !ranks[rank])
            warp.fault(FaultKind::illegal_instruction, op, lane,
                       "a copy to block " + std::to_string(rank) + " of the cluster, which " +
                           (rank < ranks.size() ? "has ended" : "has " + std::to_string(ranks.size())));
        return reinterpret_cast<T*>(ranks[rank]->shared + (at - block->shared));
    }
    return place;
}

// The block of the cluster that a place in shared memory belongs to.
inline const Block& owner_of(const Warp& warp, const std::byte* place) {
    for (const Block* block : warp.block->cluster->ranks)
        if (block && place >= block->shared && place < block->shared + block->shared_bytes) return *block;
    return *warp.block;
}

inline BulkEvent::Shared shared_part(const Block& block, uint32_t begin, uint32_t end, const void* barrier,
                                     const Transfer& transfer) {
    return {{block.index[0], block.index[1], block.index[2]}, begin, end, barrier, transfer.state};
}
inline void report(Warp& warp, const BulkEvent& event) {
    const auto& state = static_cast<const WarpState&>(warp);
    warp.observer->bulk(state.place(), *state.running, event);
}
inline void report_wait(Warp& warp, uint32_t lanes, const void* barrier) {
    const auto& state = static_cast<const WarpState&>(warp);
    if (warp.observer && lanes) warp.observer->waited(state.place(), *state.running, lanes, barrier);
}
// Addresses are resolved without a report: the whole copy gets one.
class Unobserved {
  public:
    explicit Unobserved(Warp& warp) : warp_(warp), observer_(std::exchange(warp.observer, nullptr)) {}
    ~Unobserved() { warp_.observer = observer_; }
    Unobserved(const Unobserved&) = delete;
    Unobserved& operator=(const Unobserved&) = delete;

  private:
    Warp& warp_;
    Observer* observer_;
};

// The reduction of this name and type on memory; null: there is none.
Reduction choose_reduction(std::string_view name, ptx::Type type, bool global);
// After cp(.reduce).async.bulk, of which one is .tensor.
void decode_tensor_copy(Decoder& decoder, bool reduces);
void decode_tensor_map(Decoder& decoder);  // tensormap.replace, tensormap.cp_fenceproxy

}  // namespace softcuda::SOFTCUDA_LEVEL
