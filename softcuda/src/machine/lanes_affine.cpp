// From a block's bases to the rows of its warps (affine.h): lane i has base + i * stride.
#include "machine/block.h"
#include "machine/decode.h"
#include "machine/lanes.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

template <class T>
void exec_expand(Warp& warp, const Op& op, uint32_t lanes) {
    const T* bases = row_in<T>(warp.block->bases->rows(), op.a);
    const T stride = static_cast<T>(op.imm);
    each_warp(warp, [&op, lanes, bases, stride](Warp& own) {
        const T base = bases[own.index];
        each_lane(own.row<T>(op.dst), lanes, [=](int i) { return static_cast<T>(base + static_cast<T>(i) * stride); });
    });
}

void exec_expand_mask(Warp& warp, const Op& op, uint32_t lanes) {
    const uint32_t* bases = row_in<uint32_t>(warp.block->bases->rows(), op.a);
    each_warp(warp, [&op, lanes, bases](Warp& own) {
        uint32_t& mask = own.predicate(op.dst);
        mask = (mask & ~lanes) | (bases[own.index] & lanes);
    });
}

}  // namespace

void register_affine(OperationTable& table) {
    table.expand_mask = exec_expand_mask;
    table.expand_word = exec_expand<uint32_t>;
    table.expand_pair = exec_expand<uint64_t>;
}

}  // namespace softcuda::SOFTCUDA_LEVEL
