#include "machine/specials.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "machine/block.h"

namespace softcuda {

bool special_from_name(std::string_view name, Special& special) {
    using enum Special;
    static const std::unordered_map<std::string_view, Special> names = {
        {"%tid.x", tid_x},
        {"%tid.y", tid_y},
        {"%tid.z", tid_z},
        {"%tid.w", zero},
        {"%ntid.x", ntid_x},
        {"%ntid.y", ntid_y},
        {"%ntid.z", ntid_z},
        {"%ntid.w", zero},
        {"%ctaid.x", ctaid_x},
        {"%ctaid.y", ctaid_y},
        {"%ctaid.z", ctaid_z},
        {"%ctaid.w", zero},
        {"%nctaid.x", nctaid_x},
        {"%nctaid.y", nctaid_y},
        {"%nctaid.z", nctaid_z},
        {"%nctaid.w", zero},
        {"%laneid", laneid},
        {"%warpid", warpid},
        {"%nwarpid", nwarpid},
        {"%smid", smid},
        {"%nsmid", nsmid},
        {"%gridid", gridid},
        {"%lanemask_eq", lanemask_eq},
        {"%lanemask_le", lanemask_le},
        {"%lanemask_lt", lanemask_lt},
        {"%lanemask_ge", lanemask_ge},
        {"%lanemask_gt", lanemask_gt},
        {"%is_explicit_cluster", is_explicit_cluster},
        {"%clusterid.x", clusterid_x},
        {"%clusterid.y", clusterid_y},
        {"%clusterid.z", clusterid_z},
        {"%clusterid.w", zero},
        {"%nclusterid.x", nclusterid_x},
        {"%nclusterid.y", nclusterid_y},
        {"%nclusterid.z", nclusterid_z},
        {"%nclusterid.w", zero},
        {"%cluster_ctaid.x", cluster_ctaid_x},
        {"%cluster_ctaid.y", cluster_ctaid_y},
        {"%cluster_ctaid.z", cluster_ctaid_z},
        {"%cluster_ctaid.w", zero},
        {"%cluster_nctaid.x", cluster_nctaid_x},
        {"%cluster_nctaid.y", cluster_nctaid_y},
        {"%cluster_nctaid.z", cluster_nctaid_z},
        {"%cluster_nctaid.w", zero},
        {"%cluster_ctarank", cluster_ctarank},
        {"%cluster_nctarank", cluster_nctarank},
        {"%total_smem_size", total_smem_size},
        {"%aggr_smem_size", aggr_smem_size},
        {"%dynamic_smem_size", dynamic_smem_size},
        {"%reserved_smem_offset_begin", reserved_smem_begin},
        {"%reserved_smem_offset_end", reserved_smem_end},
        {"%reserved_smem_offset_cap", reserved_smem_cap},
        {"%reserved_smem_offset_0", reserved_smem_offset_0},
        {"%reserved_smem_offset_1", reserved_smem_offset_1},
        {"%current_graph_exec", current_graph_exec},
        {"%clock", clock},
        {"%clock_hi", clock_hi},
        {"%clock64", clock64},
        {"%globaltimer", globaltimer},
        {"%globaltimer_lo", globaltimer_lo},
        {"%globaltimer_hi", globaltimer_hi},
        {"%envreg0", envreg0},
        {"%envreg1", envreg1},
        {"%envreg2", envreg2},
    };
    auto found = names.find(name);
    if (found != names.end()) {
        special = found->second;
        return true;
    }
    if (name.starts_with("%pm")) {  // performance counters that nobody has set up
        special = zero;
        return true;
    }
    if (name.starts_with("%envreg") && name.size() > 7 && name.size() < 10 && name[7] >= '0' && name[7] <= '9') {
        special = envreg_other;
        return true;
    }
    return false;
}

bool changes_by_block(Special special) {
    using enum Special;
    return (special >= ctaid_x && special <= ctaid_z) || special == smid ||
           (special >= clusterid_x && special <= cluster_ctarank) || special == stack_taken;  // alloca moves it
}

uint64_t special_value(Special special, const WarpState& warp, int lane, const Frame& frame) {
    const Block& block = *warp.block;
    const Launch& launch = *block.launch;
    const Dim3& ntid = launch.config->block;
    const Dim3& grid = launch.config->grid;
    const Dim3& cluster = launch.config->cluster;
    const uint32_t thread = warp.index * warp_size + static_cast<uint32_t>(lane);
    const uint32_t bit = 1u << lane;
    auto now = [] {
        return static_cast<uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
                .count());
    };
    using enum Special;
    switch (special) {
        case tid_x: return thread % ntid.x;
        case tid_y: return thread / ntid.x % ntid.y;
        case tid_z: return thread / (ntid.x * ntid.y);
        case ntid_x: return ntid.x;
        case ntid_y: return ntid.y;
        case ntid_z: return ntid.z;
        case ctaid_x: return block.index[0];
        case ctaid_y: return block.index[1];
        case ctaid_z: return block.index[2];
        case nctaid_x: return grid.x;
        case nctaid_y: return grid.y;
        case nctaid_z: return grid.z;
        case laneid: return static_cast<uint64_t>(lane);
        case warpid: return warp.index;
        case nwarpid: return static_cast<uint64_t>(launch.machine->warps_per_sm);
        case smid: return block.smid;
        case nsmid: return static_cast<uint64_t>(launch.machine->sm_count);
        case gridid: return launch.serial;
        case lanemask_eq: return bit;
        case lanemask_le: return bit | (bit - 1);
        case lanemask_lt: return bit - 1;
        case lanemask_ge: return ~(bit - 1);
        case lanemask_gt: return ~(bit | (bit - 1));
        case is_explicit_cluster: return cluster.count() > 1;
        case clusterid_x: return block.index[0] / cluster.x;
        case clusterid_y: return block.index[1] / cluster.y;
        case clusterid_z: return block.index[2] / cluster.z;
        case nclusterid_x: return grid.x / cluster.x;
        case nclusterid_y: return grid.y / cluster.y;
        case nclusterid_z: return grid.z / cluster.z;
        case cluster_ctaid_x: return block.index[0] % cluster.x;
        case cluster_ctaid_y: return block.index[1] % cluster.y;
        case cluster_ctaid_z: return block.index[2] % cluster.z;
        case cluster_nctaid_x: return cluster.x;
        case cluster_nctaid_y: return cluster.y;
        case cluster_nctaid_z: return cluster.z;
        case cluster_ctarank: return block.cluster_rank;
        case cluster_nctarank: return cluster.count();
        case total_smem_size: return block.shared_bytes;
        case aggr_smem_size: return block.shared_bytes;
        case dynamic_smem_size: return launch.config->dynamic_shared;
        case reserved_smem_begin: return 0;
        case reserved_smem_end: return launch.shared_begin;
        case reserved_smem_cap: return launch.shared_begin;
        // Two areas of the reserved kilobyte that compiled library code (cooperative groups) keeps its notes in.
        case reserved_smem_offset_0: return 0;
        case reserved_smem_offset_1: return launch.shared_begin / 2;
        case envreg1: return launch.grid_workspace >> 32;
        case envreg2: return launch.grid_workspace & 0xffffffffu;
        case envreg0:
        case envreg_other:
        case current_graph_exec:
        case zero: return 0;
        case local_base: return frame.local_base;
        case stack_taken: return frame.stack_taken;
        case dynamic_shared_base: return launch.dynamic_base;
        // Clock registers count executed warp instructions: the same in every run.
        case clock:
        case clock_hi:
        case clock64: return warp.clock;
        case globaltimer: return now();
        case globaltimer_lo: return now() & 0xffffffffu;
        case globaltimer_hi: return now() >> 32;
    }
    return 0;
}

namespace {

bool differs_by_lane(Special special) {
    using enum Special;
    return special == tid_x || special == tid_y || special == tid_z || special == laneid ||
           (special >= lanemask_eq && special <= lanemask_gt);
}

template <class T>
void fill(Special special, T* row, const WarpState& warp, const Frame& frame) {
    const uint32_t width = warp.block->launch->config->block.x;
    if (!differs_by_lane(special)) {
        std::fill_n(row, warp_size, static_cast<T>(special_value(special, warp, 0, frame)));
    } else if (special == Special::tid_x && width % warp_size == 0) {  // a warp lies within one row of threads
        uint32_t first = warp.index * warp_size % width;
        for (int lane = 0; lane < warp_size; ++lane) row[lane] = static_cast<T>(first + static_cast<uint32_t>(lane));
    } else {
        for (int lane = 0; lane < warp_size; ++lane)
            row[lane] = static_cast<T>(special_value(special, warp, lane, frame));
    }
}

}  // namespace

void fill_special(Special special, Row row, const WarpState& warp, const Frame& frame) {
    std::byte* at = frame.rows + row.offset;
    switch (row.element_bytes) {
        case 0: *reinterpret_cast<uint32_t*>(at) = special_value(special, warp, 0, frame) ? all_lanes : 0; return;
        case 2: return fill(special, reinterpret_cast<uint16_t*>(at), warp, frame);
        case 4: return fill(special, reinterpret_cast<uint32_t*>(at), warp, frame);
        case 8: return fill(special, reinterpret_cast<uint64_t*>(at), warp, frame);
        default: return;
    }
}

}  // namespace softcuda
