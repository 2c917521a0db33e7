// The bases of affine values (affine.h), computed once for a block: lane w has what the first lane of warp w has.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "machine/affine.h"
#include "machine/block.h"
#include "machine/specials.h"

namespace softcuda {
namespace {

// The values that the first lanes of the warps have; lanes beyond have the last one's.
template <class T>
void fill(Special special, T* row, const Block& block, const Frame& frame) {
    if (changes_by_block(special)) {  // and not within it
        std::fill_n(row, warp_size, static_cast<T>(special_value(special, *block.warps[0], 0, frame)));
        return;
    }
    for (size_t w = 0; w < warp_size; ++w)
        row[w] = static_cast<T>(special_value(special, *block.warps[std::min(w, block.warps.size() - 1)], 0, frame));
}

}  // namespace

AffineBases::AffineBases(Block& block, const BaseCode& code) : block_(block), code_(code) {
    warp_.block = &block;
    warp_.worker = block.worker;
    warp_.present = all_lanes;
    warp_.kernel_frame.function = &code.function;
    warp_.current = &warp_.kernel_frame;
    warp_.frame = static_cast<std::byte*>(std::aligned_alloc(64, code.function.frame_bytes));
    if (!warp_.frame) throw std::bad_alloc();
    std::memcpy(warp_.frame, code.function.image.data(), code.function.image.size());
}

AffineBases::~AffineBases() { std::free(warp_.frame); }

bool AffineBases::begin() {
    const Function& function = code_.function;
    const bool same_row = grid_row_[0] == block_.index[1] && grid_row_[1] == block_.index[2];
    grid_row_[0] = block_.index[1], grid_row_[1] = block_.index[2];
    const bool first = !std::exchange(begun_, true);
    for (size_t i = 0; i < (first ? function.specials.size() : function.block_specials); ++i) {
        const auto& [special, row] = function.specials[i];
        if (row.element_bytes == 4)
            fill(special, warp_.row<uint32_t>(row.offset), block_, warp_.kernel_frame);
        else
            fill(special, warp_.row<uint64_t>(row.offset), block_, warp_.kernel_frame);
    }
    const Op* op = function.stream(false).data();
    if (!first) op += same_row ? function.block_begin : function.row_begin;
    for (; op->flow == Flow::next; ++op) op->exec(warp_, *op, all_lanes);
    return holds();
}

bool AffineBases::holds() const {
    uint32_t wraps = 0;
    for (const BaseCode::Check& check : code_.checks) {
        const auto* row = reinterpret_cast<const uint32_t*>(warp_.frame + check.row);
        for (size_t w = 0; w < warp_size; ++w) {
            const auto value = static_cast<int32_t>(row[w] ^ check.flipped);
            wraps |= uint32_t(value < check.low) | uint32_t(value > check.high);
        }
    }
    return !wraps;
}

}  // namespace softcuda
