// Lockstep warps.
//
// While all warps of a block stand at one instruction with all their lanes, they advance together: each operation runs
// for one warp after the other before the next operation begins.  So the cost of finding out what to do is shared, the
// CPU works at several warps at a time, and a barrier is nothing.  At a branch that they do not take alike, and at what
// only some instructions of the scheduler know (schedule.cpp), they part; at a barrier they meet again.
#include <algorithm>
#include <cstring>
#include <utility>

#include "machine/block.h"

namespace softcuda {
namespace {

// Straight code runs for as many warps at a time as the CPU's second-level cache has room for their frames.
size_t warps_at_once(const Block& block) {
    constexpr size_t room = 96 << 10;
    return std::clamp<size_t>(room / block.frame_stride, 1, block.warps.size());
}

// A predicate of a warp that runs the kernel itself.
uint32_t predicate_of(const Block& block, size_t warp, uint32_t row) {
    uint32_t mask;
    std::memcpy(&mask, block.frames + warp * block.frame_stride + row, sizeof mask);
    return mask;
}

void run_for_all(Warp* const* warps, size_t count, const Op& op) {
    if (op.predicate != Op::no_row) {
        for (size_t i = 0; i < count; ++i) {
            const uint32_t mask = warps[i]->predicate(op.predicate);
            const uint32_t active = op.predicate_negated ? ~mask : mask;
            if (active) op.exec(*warps[i], op, active);
        }
        return;
    }
    Warp& first = *warps[0];
    first.lockstep_count = static_cast<uint32_t>(count);
    first.lockstep_warps = warps;
    op.exec(first, op, all_lanes);
    if (first.lockstep_count == 1) return;
    first.lockstep_count = 1;
    for (size_t i = 1; i < count; ++i) op.exec(*warps[i], op, all_lanes);
}

}  // namespace

bool Block::in_lockstep() const {
    if (!may_lockstep) return false;
    const Group* leader = nullptr;
    for (const auto& warp : warps) {
        if (warp->groups.size() != 1) return false;
        const Group& group = warp->groups[0];
        if (!leader) leader = &group;
        if (group.wait != Wait::ready || group.lanes != all_lanes || group.pc != leader->pc ||
            group.frame != &warp->kernel_frame)
            return false;
    }
    return pending_barriers == 0;
}

// Whether every warp comes to a barrier of the whole block, and nobody waits for its result.
bool Block::pass_barrier_in_lockstep(const Op& op) {
    if (op.predicate != Op::no_row) return false;
    uint32_t id = 0;
    for (const auto& warp : warps) {
        op.exec(*warp, op, all_lanes);
        const BarrierRequest& request = warp->request;
        if (warp->index == 0) id = request.id;
        if (request.kind != BarrierRequest::Kind::sync || request.id != id || id >= barriers.size() ||
            (request.threads && request.threads != warps.size() * warp_size))
            return false;
    }
    return true;
}

// Until they part, have ended, or the slice is used; returns the work done.
int64_t Block::run_lockstep(int64_t slice) {
    const size_t count = warps.size(), at_once = warps_at_once(*this);
    for (const auto& warp : warps) {
        warp->current = &warp->kernel_frame;
        warp->frame = warp->kernel_frame.rows;
        warp->spent = 0;
    }
    const Op* const code = this->code;
    const Op* op = code + warps[0]->groups[0].pc;
    int64_t ran = 0, more = 0;
    auto spent = [&] { return ran * static_cast<int64_t>(count) + more; };
    for (bool together = true; together && spent() < slice;) {
        const Op* const begin = op;
        for (size_t first = 0; first < count; first += at_once)
            for (op = begin; op->flow == Flow::next; ++op)
                run_for_all(all_warps.data() + first, std::min(at_once, count - first), *op);
        // At what ends the straight code.  If they part here, it is not done yet.
        const Op* const end = op;
        switch (op->flow) {
            case Flow::branch: {
                uint32_t any = all_lanes, all = all_lanes;
                if (op->predicate != Op::no_row) {
                    any = 0;
                    for (size_t i = 0; i < count; ++i) {
                        const uint32_t mask = predicate_of(*this, i, op->predicate);
                        const uint32_t active = op->predicate_negated ? ~mask : mask;
                        any |= active, all &= active;
                    }
                }
                if (all == all_lanes)
                    op = code + op->target;
                else if (any == 0)
                    ++op;
                else
                    together = false;
                break;
            }
            case Flow::barrier:
                together = pass_barrier_in_lockstep(*op);
                if (together) ++op;
                break;
            case Flow::meet:
                together = op->predicate == Op::no_row;
                for (const auto& warp : warps) together = together && warp->meet_ready(*op, all_lanes, all_lanes);
                if (together) run_for_all(all_warps.data(), count, *op++);
                break;
            case Flow::warpgroup:
                together = op->predicate == Op::no_row;
                for (const auto& warp : warps)
                    together =
                        together && warp->meet_ready(*op, all_lanes, all_lanes) && products_committed(*warp, *op);
                if (together) run_for_all(all_warps.data(), count, *op++);
                break;
            case Flow::ret:
            case Flow::exit:
                if (op->predicate != Op::no_row) {
                    together = false;
                    break;
                }
                for (const auto& warp : warps) {
                    warp->exited = all_lanes;
                    warp->groups.clear();
                    if (cluster->arrived) lanes_exited(*warp, all_lanes);
                }
                live = 0;
                return spent();
            default: together = false;
        }
        ran += end - begin + (together ? 1 : 0);
        if (op > end) continue;  // no loop
        for (const auto& warp : warps) {
            more += warp->spins * spin_work + std::exchange(warp->spent, 0);
            warp->spin_total += warp->spins;
            warp->spins = 0;
        }
    }
    for (const auto& warp : warps) {
        warp->clock += static_cast<uint64_t>(ran);
        warp->groups[0].pc = static_cast<uint32_t>(op - code);
    }
    return spent();
}

}  // namespace softcuda
