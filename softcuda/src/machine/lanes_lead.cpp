// From a block's lead to the rows of its warps (leads.h): lane i has what the first lane has, plus i steps.
#include "machine/block.h"
#include "machine/decode.h"
#include "machine/lanes.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

template <class T>
void exec_spread(Warp& warp, const Op& op, uint32_t lanes) {
    const T* leads = row_in<T>(warp.block->lead->rows(), op.a);
    const T step = static_cast<T>(op.imm);
    each_mate(warp, [&op, lanes, leads, step](Warp& own) {
        const T first = leads[own.index];
        each_lane(own.row<T>(op.dst), lanes, [=](int i) { return static_cast<T>(first + static_cast<T>(i) * step); });
    });
}

void exec_spread_mask(Warp& warp, const Op& op, uint32_t lanes) {
    const uint32_t* leads = row_in<uint32_t>(warp.block->lead->rows(), op.a);
    each_mate(warp, [&op, lanes, leads](Warp& own) {
        uint32_t& mask = own.predicate(op.dst);
        mask = (mask & ~lanes) | (leads[own.index] & lanes);
    });
}

}  // namespace

void register_lead(OperationTable& table) {
    table.spread_mask = exec_spread_mask;
    table.spread_word = exec_spread<uint32_t>;
    table.spread_pair = exec_spread<uint64_t>;
}

}  // namespace softcuda::SOFTCUDA_LEVEL
