// Special registers (%tid.x, %laneid, …) and the few hidden values that behave like them.
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/program.h"

namespace softcuda {

class WarpState;
struct Frame;
struct Op;

// The first group is constant while a function runs: such a register is a row, filled when its frame is made.
// The second changes while it runs: reading one is an operation.
enum class Special : uint8_t {
    tid_x,
    tid_y,
    tid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    laneid,
    warpid,
    nwarpid,
    smid,
    nsmid,
    gridid,
    lanemask_eq,
    lanemask_le,
    lanemask_lt,
    lanemask_ge,
    lanemask_gt,
    is_explicit_cluster,
    clusterid_x,
    clusterid_y,
    clusterid_z,
    nclusterid_x,
    nclusterid_y,
    nclusterid_z,
    cluster_ctaid_x,
    cluster_ctaid_y,
    cluster_ctaid_z,
    cluster_nctaid_x,
    cluster_nctaid_y,
    cluster_nctaid_z,
    cluster_ctarank,
    cluster_nctarank,
    total_smem_size,
    aggr_smem_size,
    dynamic_smem_size,
    reserved_smem_begin,
    reserved_smem_end,
    reserved_smem_cap,
    reserved_smem_offset_0,
    reserved_smem_offset_1,
    envreg0,
    envreg1,
    envreg2,
    envreg_other,
    current_graph_exec,
    zero,
    local_base,           // hidden: where this activation's .local variables begin
    stack_taken,          // hidden: what alloca has taken of the stack's end, in its callers
    dynamic_shared_base,  // hidden: where `extern .shared` begins
    // --- dynamic
    clock,
    clock_hi,
    clock64,
    globaltimer,
    globaltimer_lo,
    globaltimer_hi,
};

// Whether it differs between the blocks of a launch.
bool changes_by_block(Special special);

inline constexpr bool is_dynamic(Special special) { return special >= Special::clock; }

// Whether the instruction reads one that changes while a warp runs, as the clock.
bool reads_dynamic_special(const Op& op);

// "%tid.x" -> tid_x; false: no such register.
bool special_from_name(std::string_view name, Special& special);

// The value of `special` in `lane` of the warp, whose function runs in `frame`.
uint64_t special_value(Special special, const WarpState& warp, int lane, const Frame& frame);

// Fills the frame's row, of any width.
void fill_special(Special special, Row row, const WarpState& warp, const Frame& frame);

}  // namespace softcuda
