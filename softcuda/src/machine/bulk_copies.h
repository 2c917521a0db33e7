// What bulk copies of bytes and of tensors share.  Included by lanes_bulk.cpp and lanes_tensor.cpp.
#pragma once

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

// The reduction of this name and type on memory; null: there is none.
Reduction choose_reduction(std::string_view name, ptx::Type type, bool global);
// After cp(.reduce).async.bulk, of which one is .tensor.
void decode_tensor_copy(Decoder& decoder, bool reduces);
void decode_tensor_map(Decoder& decoder);  // tensormap.replace, tensormap.cp_fenceproxy

}  // namespace softcuda::SOFTCUDA_LEVEL
