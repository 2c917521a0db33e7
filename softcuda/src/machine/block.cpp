// Barriers of a block, and how a fault is reported.
#include "machine/block.h"
#include "ptx/names.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace softcuda {
namespace {

const char* kind_name(FaultKind kind) {
    switch (kind) {
        case FaultKind::illegal_address: return "illegal address";
        case FaultKind::misaligned_address: return "misaligned address";
        case FaultKind::illegal_instruction: return "illegal instruction";
        case FaultKind::trap: return "trap";
        case FaultKind::assertion: return "assertion failed";
        case FaultKind::deadlock:
        case FaultKind::mbarrier: return "deadlock";
        case FaultKind::timeout: return "timeout";
        case FaultKind::stack_overflow: return "stack overflow";
        case FaultKind::invalid_address_space: return "invalid address space";
        case FaultKind::invalid_pc: return "invalid program counter";
        case FaultKind::invalid_free: return "invalid free";
        case FaultKind::interrupted: return "interrupted";
        case FaultKind::internal: return "internal error";
    }
    return "fault";
}

std::string triple(uint32_t x, uint32_t y, uint32_t z) {
    char text[48];
    std::snprintf(text, sizeof text, "(%u,%u,%u)", x, y, z);
    return text;
}

}  // namespace

std::string fault_head(FaultKind kind, const Launch& launch) {
    return std::string(kind_name(kind)) + ": kernel " + ptx::demangled(launch.kernel->name);
}

std::string block_name(const Block& block) { return "block " + triple(block.index[0], block.index[1], block.index[2]); }

void Warp::fault(FaultKind kind, const Op& op, int lane, const std::string& what) {
    static_cast<WarpState&>(*this).report_until_here();
    const Dim3& shape = block->launch->config->block;
    uint32_t thread = index * warp_size + static_cast<uint32_t>(lane);
    Fault fault;
    fault.kind = kind;
    fault.address = fault_address;
    fault.block = block->number;
    fault.message = fault_head(kind, *block->launch) + ", " + block_name(*block) + ", thread " +
                    triple(thread % shape.x, thread / shape.x % shape.y, thread / (shape.x * shape.y)) + ": " + what +
                    "; " + block->launch->program->where(op);
    if (block->launch->program->files.size() <= 1)  // the PTX names no source file
        fault.message += "; source line unknown: compile with -lineinfo";
    throw FaultError{std::move(fault)};
}

// --- barriers

bool Block::complete(const Barrier& barrier) const {
    return barrier.expected ? barrier.arrived >= barrier.expected : barrier.live_arrived - barrier.gone >= live;
}

bool Block::arrive(WarpState& warp, const Op& op, uint32_t lanes, uint32_t& result) {
    const BarrierRequest request = warp.request;
    const int lane = std::countr_zero(lanes);
    if (request.id >= barriers.size())
        warp.fault(FaultKind::illegal_instruction, op, lane,
                   "barrier " + std::to_string(request.id) + " of a block that has barriers 0 to 15");
    // A count of the whole block, rounded up to warps as the hardware needs it, is the same as no count.
    const uint32_t all = static_cast<uint32_t>(warps.size()) * warp_size;
    const uint32_t expected = request.threads == all ? 0 : request.threads;
    if (expected % warp_size != 0)
        warp.fault(FaultKind::illegal_instruction, op, lane,
                   "barrier for " + std::to_string(expected) + " threads, which is no multiple of 32");
    if (expected > all)
        warp.fault(FaultKind::illegal_instruction, op, lane,
                   "barrier for " + std::to_string(expected) + " threads in a block of " + std::to_string(all));
    Barrier& barrier = barriers[request.id];
    if (!barrier.pending) {
        barrier.pending = true;
        ++pending_barriers;
        barrier.expected = expected;
        barrier.arrived = barrier.live_arrived = barrier.gone = barrier.votes = 0;
        barrier.lanes.assign(warps.size(), 0);
    } else if (barrier.expected != expected) {
        auto count = [](uint32_t n) { return n ? std::to_string(n) + " threads" : std::string("all threads"); };
        warp.fault(FaultKind::illegal_instruction, op, lane,
                   "barrier " + std::to_string(request.id) + " for " + count(expected) +
                       ", while others wait in it for " + count(barrier.expected));
    }
    // The hardware counts whole warps: lanes that do not exist (any more) come with the first of their warp.
    if (barrier.lanes[warp.index] == 0)
        barrier.arrived += static_cast<uint32_t>(warp_size - std::popcount(warp.present & ~warp.exited));
    barrier.arrived += static_cast<uint32_t>(std::popcount(lanes));
    barrier.live_arrived += static_cast<uint32_t>(std::popcount(lanes));
    barrier.votes += static_cast<uint32_t>(std::popcount(request.votes & lanes));
    barrier.lanes[warp.index] |= lanes;
    if (complete(barrier)) {
        switch (request.kind) {
            case BarrierRequest::Kind::all: result = barrier.votes == barrier.live_arrived; break;
            case BarrierRequest::Kind::any: result = barrier.votes > 0; break;
            default: result = barrier.votes;
        }
        release(request.id);
        return true;
    }
    return request.kind == BarrierRequest::Kind::arrive;
}

void Block::release(uint32_t id) {
    Barrier& barrier = barriers[id];
    if (launch->observer) launch->observer->barrier_done(warps[0]->place(), id, barrier.live_arrived);
    for (auto& warp : warps) {
        for (Group& group : warp->groups) {
            if (group.wait != Wait::barrier || group.barrier != id) continue;
            // small[1] of a bar.red: what it computes of the votes.
            auto kind = static_cast<BarrierRequest::Kind>(group.op->small[1]);
            uint32_t result = barrier.votes;
            if (kind == BarrierRequest::Kind::all) result = barrier.votes == barrier.live_arrived;
            if (kind == BarrierRequest::Kind::any) result = barrier.votes > 0;
            warp->reduce_result(group, result);
            group.wait = Wait::ready;
            group.age = 0;
        }
    }
    barrier.pending = false;
    --pending_barriers;
}

void Cluster::complete_barrier() {
    uint32_t live = 0;
    for (const Block* block : blocks) live += block->live;
    if (arrived == 0 || arrived < live) return;
    arrived = 0;
    for (Block* block : blocks) {
        if (block->launch->observer) block->launch->observer->cluster_done(block->warps[0]->place(), this);
        for (auto& warp : block->warps) {
            warp->cluster_pending = 0;
            for (Group& group : warp->groups)
                if (group.wait == Wait::cluster) group.wait = Wait::ready, group.age = 0;
        }
    }
}

void Block::arrive_in_cluster(WarpState& warp, uint32_t lanes) {
    warp.cluster_pending |= lanes;
    cluster->arrived += static_cast<uint32_t>(std::popcount(lanes));
    cluster->complete_barrier();
}

void Block::lanes_exited(WarpState& warp, uint32_t lanes) {
    live -= static_cast<uint32_t>(std::popcount(lanes));
    if (launch->observer) launch->observer->exited(warp.place(), lanes);
    if (cluster->arrived) {
        cluster->arrived -= static_cast<uint32_t>(std::popcount(lanes & warp.cluster_pending));
        cluster->complete_barrier();
    }
    if (pending_barriers == 0) return;
    for (uint32_t id = 0; id < barriers.size(); ++id) {
        Barrier& barrier = barriers[id];
        if (!barrier.pending) continue;
        barrier.gone += static_cast<uint32_t>(std::popcount(lanes & barrier.lanes[warp.index]));
        if (barrier.lanes[warp.index])
            barrier.arrived += static_cast<uint32_t>(std::popcount(lanes & ~barrier.lanes[warp.index]));
        if (complete(barrier)) release(id);
    }
}

namespace {

// In a loop around an mbarrier test these change nothing from one turn to the next.
bool changes_nothing(const Op& op, const Program& program) {
    constexpr std::string_view harmless[] = {"mbarrier.test_wait",
                                             "mbarrier.try_wait",
                                             "mov.",
                                             "setp.",
                                             "selp.",
                                             "not.pred",
                                             "xor.pred",
                                             "and.",
                                             "or.",
                                             "cvt.",
                                             "bra",
                                             "nanosleep"};
    const std::string& text = program.locations[op.line].text;
    return !reads_dynamic_special(op) &&
           std::any_of(std::begin(harmless), std::end(harmless), [&](auto name) { return text.starts_with(name); });
}

// Instructions of the innermost loop around a test, the group being in it; 0: it is in none, or something else happens there.
uint64_t loop_around(const Op& test, const Group& group, const Program& program) {
    constexpr ptrdiff_t longest = 16;
    const Function& function = *group.frame->function;
    const Op* const code = group.frame->code;
    ptrdiff_t size = 0;
    for (const std::vector<Op>* stream : {&function.code, &function.optimised, &function.affine})
        if (code == stream->data()) size = static_cast<ptrdiff_t>(stream->size());
    if (&test < code || &test >= code + size) return 0;
    const ptrdiff_t at = &test - code;
    for (ptrdiff_t last = at + 1; last < std::min(at + longest, size); ++last) {
        if (code[last].flow != Flow::branch || code[last].target > at) continue;
        const ptrdiff_t first = code[last].target;
        if (group.pc < first || group.pc > last || at - first > longest) return 0;
        for (ptrdiff_t i = first; i <= last; ++i)
            if (!changes_nothing(code[i], program)) return 0;
        return static_cast<uint64_t>(last - first + 1);
    }
    return 0;
}

}  // namespace

bool WarpState::only_waited() {
    const uint64_t ran = clock - std::exchange(clock_before, clock);
    const uint64_t asked = spin_total - std::exchange(spins_before, spin_total);
    const Group* ready = nullptr;
    for (const Group& group : groups) {
        if (group.wait != Wait::ready) continue;
        if (ready) return false;
        ready = &group;
    }
    if (!ready) return ran == 0;
    if (!awaited) return false;
    const uint64_t length = loop_around(*awaited_at, *ready, *block->launch->program);
    return length && asked && ran <= (asked + 1) * length;
}

std::string WarpState::waits() const {
    std::string text;
    for (const Group& group : groups) {
        const bool ready = group.wait == Wait::ready;
        if (ready ? !awaited : !group.op) continue;
        char lanes[64];
        std::snprintf(lanes, sizeof lanes, "\n  warp %u, lanes 0x%08x, ", index, group.lanes);
        text += lanes;
        text += ready ? due()
                      : (group.wait == Wait::barrier     ? "in barrier " + std::to_string(group.barrier)
                         : group.wait == Wait::cluster   ? "in the cluster's barrier"
                         : group.wait == Wait::warpgroup ? "waiting for the other warps of its warpgroup"
                                                         : "waiting for other lanes") +
                            ": " + block->launch->program->where(*group.op);
    }
    return text;
}

std::string WarpState::awaits() const {
    if (!awaited) return "";
    return "\n  warp " + std::to_string(index) + " waits " + due();
}

std::string WarpState::due() const {
    const auto barrier = std::bit_cast<Mbarrier>(*awaited);
    const int64_t due = static_cast<int32_t>(uint32_t(barrier.transactions) << 9) >> 9;
    const uint64_t coming = block->cluster->async ? block->cluster->async->under_way(awaited) : 0;
    auto count = [](uint64_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); };
    std::string text = "at an mbarrier for " + count(barrier.pending, "arrival") + " and ";
    if (due < 0)
        text += "no bytes: " + count(static_cast<uint64_t>(-due), "byte") + " came that it did not expect";
    else
        text += count(static_cast<uint64_t>(due), "byte");
    if (due > 0 || coming) text += ", of which copies under way bring " + std::to_string(coming);
    return text + ": " + block->launch->program->where(*awaited_at);
}

std::string Block::waits() const {
    std::string text;
    uint32_t shown = 0;
    for (const auto& warp : warps) {
        if (warp->finished()) continue;
        if (++shown > 8) return text + "\n  …";
        text += warp->waits();
    }
    return text;
}

}  // namespace softcuda
