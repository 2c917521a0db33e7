// Bulk copies and tensor copies: what the asynchronous proxy reads and writes in shared memory, against what threads do.
//
// Threads reach shared memory through the generic proxy, copies through the asynchronous one.  Between the two a barrier
// is not enough: `fence.proxy.async` has to stand between, before the barrier in the thread that wrote or read, or behind
// it in the one that starts the copy.  A warp's clocks (order.h) are kept twice for this: the second half says what comes
// before its next asynchronous copies.
#include <algorithm>
#include <bit>

#include "inspect/checker.h"

namespace softcuda::inspect {
namespace {

constexpr size_t most_copies = 1024;  // that a block has in mind

}  // namespace

void Checker::fence_proxy(Block& own, uint32_t warp) {
    WarpOrder& order = own.warps[warp];
    const size_t warps = own.warps.size();
    for (size_t w = 0; w < warps; ++w) order.seen[warps + w] = std::max(order.seen[warps + w], order.seen[w]);
    order.seen[warps + warp] = ++order.clock;
}

// Has the copy ended, as far as this warp knows?
bool Checker::ended_for(const Block& own, const Engine& engine, uint32_t warp) const {
    if (!engine.done) return false;
    if (own.shares) return true;  // what orders the blocks of a cluster is not followed
    for (size_t w = 0; w < engine.waited.size(); ++w)
        if (engine.waited[w] && (w == warp || own.warps[warp].seen[w] >= engine.waited[w])) return true;
    return false;
}

void Checker::waited(const WarpPlace& place, const Op&, uint32_t, const void* barrier) {
    Block& own = block(place);
    for (Engine& engine : own.engines) {
        if (engine.barrier != barrier || (!barrier && engine.warp != place.warp)) continue;
        if (!(engine.writes ? engine.state->landed : engine.state->read)) continue;
        engine.done = true;
        if (engine.waited.empty()) engine.waited.assign(own.warps.size(), 0);
        uint32_t& at = engine.waited[place.warp];
        if (!at) at = own.warps[place.warp].clock + 1;
    }
}

void Checker::bulk(const WarpPlace& place, const Op& op, const BulkEvent& event) {
    if (event.access != Access::load)
        for (const BulkEvent::Range& range : event.global)
            if (Known* known = find(range.address))
                known->filled.fill(range.address - known->allocation.base, range.bytes);
    for (const BulkEvent::Shared& part : event.read) engine_access(place, op, event, part, false);
    for (const BulkEvent::Shared& part : event.written) engine_access(place, op, event, part, true);
}

// A copy that begins: is what it touches at rest, and do the generic accesses come before it?
void Checker::engine_access(const WarpPlace& place, const Op& op, const BulkEvent& event, const BulkEvent::Shared& part,
                            bool writes) {
    Block& issuing = block(place);
    const bool same = std::equal(part.block, part.block + 3, place.block);
    WarpPlace there = place;
    std::copy_n(part.block, 3, there.block);
    Block* const owner = same ? &issuing : running_block(there);
    if (!owner) return;
    Block& own = *owner;
    const uint32_t thread = place.warp * warp_size + event.lane;
    const Who here{issuing.serial, thread, op.line, writes ? "write" : "read"};
    if (part.barrier) look_at_init(own, part.barrier, here);
    for (const Engine& other : own.engines) {
        if (part.begin >= other.end || other.begin >= part.end || !(writes || other.writes)) continue;
        if (same ? ended_for(own, other, place.warp) : other.done) continue;
        if (!first_time("async-copy", other.line, op.line)) continue;
        const Who before{other.block, other.thread, other.line, other.writes ? "write" : "read"};
        report_shared("async-copy", "copies", std::max(part.begin, other.begin), part.end - part.begin, before, &here);
    }
    if (same && !own.shares) compare_with_threads(own, place, op, part, writes, here);
    if (writes) own.copied.fill(part.begin, part.end - part.begin);
    if (writes) forget_readings(own, part.begin, part.end);
    if (writes && own.shared.bytes) {
        // From here on the copy is what lies there.
        const size_t shift = own.shared.shift, last = own.shared.cells_to(part.end);
        for (size_t cell = part.begin >> shift; cell < last; ++cell)
            own.shared.written[cell] = own.shared.read[cell] = own.shared.earlier[cell] = 0;
    }
    std::erase_if(own.engines, [&](const Engine& old) {
        return old.done && part.begin <= old.begin && old.end <= part.end && writes;
    });
    if (own.engines.size() >= most_copies) std::erase_if(own.engines, [](const Engine& old) { return old.done; });
    if (own.engines.size() >= most_copies) own.engines.erase(own.engines.begin());
    own.engines.push_back({part.state,
                           part.barrier,
                           part.begin,
                           part.end,
                           issuing.serial,
                           place.warp,
                           thread,
                           op.line,
                           writes,
                           false,
                           {}});
}

void Checker::compare_with_threads(Block& own, const WarpPlace& place, const Op& op, const BulkEvent::Shared& part,
                                   bool writes, const Who& here) {
    if (own.blind || part.begin >= own.shared.bytes) return;
    const size_t shift = own.shared.shift, warps = own.warps.size();
    const size_t last = own.shared.cells_to(part.end);
    const WarpOrder& warp = own.warps[place.warp];
    uint32_t fine = 0;
    auto look = [&](uint32_t cell, size_t at, bool wrote) {
        const uint32_t id = Cell::id(cell);
        if (id == fine || id < own.marks.base()) return;
        const Mark& mark = own.marks[id];
        if (mark.pending || mark.block != own.serial || mark.atomic || mark.clock < warp.seen[warps + mark.warp]) {
            fine = id;
            return;
        }
        const bool ordered = mark.warp == place.warp || mark.clock < warp.seen[mark.warp];
        if (ordered && mark.asynchronous) {
            fine = id;
            return;
        }
        const char* kind = ordered ? "proxy" : "race";
        if (!first_time(kind, mark.line, op.line)) return;
        const Who before{mark.block, mark.warp * warp_size + Cell::lane(cell), mark.line, wrote ? "write" : "read"};
        const char* what = wrote ? (writes ? "write after write" : "read after write") : "write after read";
        report_shared(kind, what, static_cast<uint32_t>(at << shift), part.end - part.begin, before, &here);
    };
    for (size_t cell = part.begin >> shift; cell < last; ++cell) {
        look(own.shared.written[cell], cell, true);
        if (!writes) continue;
        look(own.shared.read[cell], cell, false);
        look(own.shared.earlier[cell], cell, false);
    }
}

// A thread's access to shared memory, while copies are under way.
void Checker::meet_engines(Block& own, const WarpPlace& place, const Op& op, const MemoryEvent& event) {
    const bool writes = event.access != Access::load;
    for (const Engine& engine : own.engines) {
        if (!(writes || engine.writes)) continue;
        uint32_t hit = 0;
        for (uint32_t rest = event.lanes; rest; rest &= rest - 1) {
            const int lane = std::countr_zero(rest);
            const uint64_t at = event.addresses[lane];
            if (at < engine.end && engine.begin < at + event.bytes) hit |= 1u << lane;
        }
        if (!hit || ended_for(own, engine, place.warp)) continue;
        if (!first_time("async-copy", engine.line, op.line)) continue;
        const auto lane = static_cast<uint32_t>(std::countr_zero(hit));
        const Who before{engine.block, engine.thread, engine.line, engine.writes ? "write" : "read"};
        const char* does = event.access == Access::load    ? "read"
                           : event.access == Access::store ? "write"
                                                           : "atomic operation";
        const Who here{own.serial, place.warp * warp_size + lane, op.line, does};
        report_shared("async-copy", engine.writes ? "bulk" : "source", static_cast<uint32_t>(event.addresses[lane]),
                      event.bytes, before, &here);
    }
}

void Checker::note_inits(Block& own, const WarpPlace& place, const Op& op, const MemoryEvent& event) {
    for (uint32_t rest = event.lanes; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        const void* const at = event.shared + event.addresses[lane];
        std::erase_if(own.inits, [&](const Init& old) { return old.barrier == at; });
        own.inits.push_back({.barrier = at,
                             .offset = static_cast<uint32_t>(event.addresses[lane]),
                             .warp = place.warp,
                             .thread = place.warp * warp_size + lane,
                             .line = op.line,
                             .clock = own.warps[place.warp].clock,
                             .shown = false});
    }
}

// A warp fences: its own mbarriers are shown to the copy engine, and by fence.proxy.async those that it knows of.
void Checker::show_inits(Block& own, uint32_t warp, bool of_others) {
    for (Init& init : own.inits)
        init.shown |= init.warp == warp || (of_others && init.clock < own.warps[warp].seen[init.warp]);
}

// A copy begins that an mbarrier is to report.
void Checker::look_at_init(const Block& own, const void* barrier, const Who& here) {
    for (const Init& init : own.inits) {
        if (init.barrier != barrier || init.shown) continue;
        if (!first_time("Init", init.line, here.line)) continue;
        const Who before{own.serial, init.thread, init.line, "initialises"};
        report_shared("mbarrier-init", "", init.offset, 8, before, &here);
    }
}

// At the end of the block, whose threads cannot wait any more, and whose shared memory the next block gets.
void Checker::report_unread(const Block& own) {
    for (const Engine& engine : own.engines) {
        if (engine.writes || engine.barrier || engine.done) continue;
        if (!first_time("Exit", engine.line, 0)) continue;
        const Who who{engine.block, engine.thread, engine.line, "read"};
        report_shared("async-copy", "exit", engine.begin, engine.end - engine.begin, who, nullptr);
    }
}

Checker::Block* Checker::running_block(const WarpPlace& place) {
    const Dim3& grid = launch().config->grid;
    const auto found =
        launch().running.find((uint64_t(place.block[2]) * grid.y + place.block[1]) * grid.x + place.block[0]);
    return found == launch().running.end() ? nullptr : found->second;
}

void Checker::report_shared(const char* kind, const char* what, uint32_t offset, uint32_t bytes, const Who& first,
                            const Who* second) {
    MemoryEvent event{};
    event.bytes = bytes;
    Block& any = *blocks_.front();
    Touch at{.block = any,
             .warp = any.warps.front(),
             .warp_index = 0,
             .op = *launch().kernel->code.data(),
             .event = event,
             .marks = any.marks,
             .shadow = any.shared,
             .base = 0,
             .known = nullptr,
             .lanes = 0,
             .ordered = 0,
             .phase = 0,
             .one_place = false};
    report(kind, what, "shared", &at, offset, first, second);
}

}  // namespace softcuda::inspect
