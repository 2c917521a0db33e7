#include "machine/warpgroup.h"

#include <algorithm>

#include "machine/block.h"

namespace softcuda {
namespace {

Warpgroup& group_of(WarpState& warp) {
    std::vector<Warpgroup>& groups = warp.block->warpgroups;
    if (groups.empty()) groups.resize((warp.block->warps.size() + warps_in_group - 1) / warps_in_group);
    return groups[warp.index / warps_in_group];
}

}  // namespace

WarpProducts& products_of(WarpState& warp) { return group_of(warp).warps[warp.index % warps_in_group]; }

bool products_committed(WarpState& warp, const Op& wait) {
    if (warp.block->warpgroups.empty()) return true;
    const Warpgroup& group = group_of(warp);
    const WarpProducts& own = group.warps[warp.index % warps_in_group];
    if (own.under_way.empty() || own.committed <= wait.imm || own.under_way[0].group + wait.imm >= own.committed)
        return true;
    const uint64_t due = own.committed - wait.imm;
    return std::all_of(group.warps.begin(), group.warps.end(),
                       [&](const WarpProducts& warp) { return warp.committed >= due; });
}

void wake_warpgroup(WarpState& warp) {
    const uint32_t first = warp.index / warps_in_group * warps_in_group;
    for (uint32_t w = first; w < std::min<size_t>(first + warps_in_group, warp.block->warps.size()); ++w)
        for (Group& group : warp.block->warps[w]->groups)
            if (group.wait == Wait::warpgroup) group.wait = Wait::ready, group.age = 0;
}

void check_products_on_return(WarpState& warp, const Op& op, const std::byte* frame) {
    for (const IssuedProduct& product : products_of(warp).under_way)
        if (product.frame == frame)
            warp.fault(FaultKind::illegal_instruction, op, 0,
                       "a function returns before wgmma.wait_group has waited for the products of its registers");
}

void finish_products(Block& block) {
    for (size_t g = 0; g < block.warpgroups.size(); ++g) {
        const Warpgroup& group = block.warpgroups[g];
        for (size_t w = 0; w < warps_in_group; ++w) {
            if (group.warps[w].issued == group.warps[0].issued) continue;
            const size_t more = group.warps[w].issued > group.warps[0].issued ? w : 0, less = w - more;
            WarpState& warp = *block.warps[g * warps_in_group + more];
            warp.fault(FaultKind::illegal_instruction, *group.warps[more].last, 0,
                       "warp " + std::to_string(warp.index) + " has executed " +
                           std::to_string(group.warps[more].issued) + " wgmma.mma_async and warp " +
                           std::to_string(g * warps_in_group + less) + " of its warpgroup " +
                           std::to_string(group.warps[less].issued) + ": all four execute each together");
        }
    }
    block.warpgroups.clear();
}

}  // namespace softcuda
