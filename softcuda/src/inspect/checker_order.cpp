// What orders accesses, as the checker hears of it: fences, barriers, asynchronous copies' waits, .sync operations.
#include "inspect/checker.h"

#include <algorithm>
#include <bit>

namespace softcuda::inspect {

Checker::Kind Checker::kind_of(const std::string& text) {
    Kind kind = Kind::plain;
    auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
    if (text.starts_with("fence") || text.starts_with("membar")) {
        const bool wide = has(".gl") || has(".gpu") || has(".sys") || has(".cluster");
        kind = has("proxy.async") && !has(".global") ? Kind::proxy_fence
               : has("mbarrier_init")                ? Kind::init_fence
               : wide                                ? Kind::fence
                                                     : Kind::block_fence;
    } else if (text.starts_with("cp.async")) {
        kind = has("bulk")           ? Kind::bulk
               : has("commit_group") ? Kind::commit
               : has("wait_group")   ? Kind::wait_group
               : has("wait_all")     ? Kind::wait_all
               : has("mbarrier")     ? Kind::arrive
                                     : Kind::copy;
    } else if (text.starts_with("cp.reduce.async")) {
        kind = Kind::bulk;
    } else if (text.starts_with("st.async") || text.starts_with("red.async") || text.starts_with("st.bulk")) {
        kind = Kind::unseen;
    } else if (text.starts_with("mbarrier.init")) {
        kind = Kind::init;
    } else if (text.starts_with("atom") && has(".cas")) {
        kind = Kind::cas;
    } else if (text.starts_with("shfl.sync")) {
        kind = has(".up") ? Kind::up : has(".down") ? Kind::down : has(".bfly") ? Kind::bfly : Kind::idx;
    }
    return kind;
}

void Checker::orders(const WarpPlace& place, const Op& op, uint32_t) {
    Block& own = block(place);
    if (product_kinds_ && product_kinds_[op.line] == ProductKind::proxy_fence) show_to_products(own, place.warp);
    switch (kinds_[op.line]) {
        case Kind::init_fence: show_inits(own, place.warp, false); [[fallthrough]];
        case Kind::fence: snapshot(own, place.warp); break;
        case Kind::proxy_fence:
            show_inits(own, place.warp, true);
            fence_proxy(own, place.warp);
            own.fenced = true;
            own.warps[place.warp].fenced = own.warps[place.warp].clock;
            break;
        case Kind::block_fence:
            own.fenced = true;
            own.warps[place.warp].fenced = ++own.warps[place.warp].clock;
            break;
        case Kind::commit: ++own.groups[place.warp]; break;
        case Kind::arrive:  // from here on the mbarrier reports them
        case Kind::wait_all: wait_for_copies(own, place.warp, own.groups[place.warp] + 1); break;
        case Kind::wait_group:
            if (own.groups[place.warp] >= op.imm)
                wait_for_copies(own, place.warp, own.groups[place.warp] - static_cast<uint32_t>(op.imm));
            break;
        default: break;
    }
}

void Checker::snapshot(Block& own, uint32_t warp) {
    WarpOrder& order = own.warps[warp];
    Snapshot made{own.serial, order.seen, order.knows};
    made.clocks[warp] = order.clock + 1;
    order.fenced = ++order.clock;
    own.fenced = true;
    order.fence = launch().order.add(std::move(made));
}

// Groups below `groups` have arrived: their bytes are as if the warp had written them now.
void Checker::wait_for_copies(Block& own, uint32_t warp, uint32_t groups) {
    std::erase_if(own.copies, [&](const Copy& copy) {
        if (copy.warp != warp || copy.group >= groups) return false;
        if (copy.id >= own.marks.base()) {
            Mark& mark = own.marks[copy.id];
            mark.pending = false;
            mark.clock = own.warps[warp].clock;
        }
        return true;
    });
}

void Checker::barrier(const WarpPlace& place, const Op& op, uint32_t lanes, uint32_t id, bool waits, bool counted) {
    Block& own = block(place);
    if (id >= cluster_barrier) return;
    Barrier& barrier = own.barriers[id];
    WarpOrder& warp = own.warps[place.warp];
    join(barrier.clocks, warp.seen);
    barrier.clocks[place.warp] = std::max(barrier.clocks[place.warp], warp.clock + 1);
    if (!warp.knows.empty()) join(barrier.knows, warp.knows);
    ++warp.clock;
    barrier.counted = barrier.counted || counted || !waits;
    own.counted = own.counted || barrier.counted;
    // Lanes of a warp, or warps of a block, at two barriers of the source that the hardware takes for one.
    auto thread = [](uint32_t w, uint32_t mask) {
        return w * warp_size + static_cast<uint32_t>(std::countr_zero(mask));
    };
    const auto& locations = launch().program->locations;
    for (uint32_t w = 0; waits && !barrier.reported && w < barrier.waiting.size(); ++w) {
        if (!barrier.waiting[w] || barrier.line[w] == op.line) continue;
        const bool same_place = locations[barrier.line[w]].line == locations[op.line].line;
        if (w == place.warp ? same_place && counted : same_place || counted || barrier.counted) continue;
        barrier.reported = true;
        const Who here{own.serial, thread(place.warp, lanes), op.line, "waits"};
        const Who there{own.serial, thread(w, barrier.waiting[w]), barrier.line[w], "waits"};
        if (first_time("barrier", op.line, barrier.line[w]))
            report("barrier", "mismatched", "", nullptr, 0, there, &here);
    }
    if (!waits) return;
    if (!barrier.waiting[place.warp]) barrier.line[place.warp] = op.line;
    barrier.waiting[place.warp] |= lanes;
}

void Checker::barrier_done(const WarpPlace& place, uint32_t id, uint32_t threads) {
    Block& own = block(place);
    Barrier& barrier = own.barriers[id];
    if (!barrier.counted) join(barrier.clocks, own.ended);
    const uint64_t all = launch().config->block.count();
    const bool whole = !barrier.counted && threads >= all - own.gone;
    if (whole && threads < all) {
        for (uint32_t w = 0; w < own.warps.size(); ++w) {
            if (!own.warps[w].exited) continue;
            uint32_t other = 0;
            while (other < own.warps.size() && !barrier.waiting[other]) ++other;
            if (other == own.warps.size()) break;
            auto thread = [](uint32_t v, uint32_t mask) {
                return v * warp_size + static_cast<uint32_t>(std::countr_zero(mask));
            };
            const Who waits{own.serial, thread(other, barrier.waiting[other]), barrier.line[other], "waits"};
            const Who gone{own.serial, thread(w, own.warps[w].exited), barrier.line[other], "ended"};
            if (first_time("barrier", waits.line, 0)) report("barrier", "ended", "", nullptr, own.gone, waits, &gone);
            break;
        }
    }
    for (uint32_t w = 0; w < own.warps.size(); ++w) {
        if (!barrier.waiting[w]) continue;
        WarpOrder& warp = own.warps[w];
        join(warp.seen, barrier.clocks);
        if (!barrier.knows.empty()) join(warp.knows, barrier.knows);
        warp.meet(barrier.waiting[w]);
        barrier.waiting[w] = 0;
    }
    std::fill(barrier.clocks.begin(), barrier.clocks.end(), 0);
    barrier.knows.clear();
    barrier.counted = barrier.reported = false;
    if (whole && own.copies.empty()) own.ordered = own.marks.next();
    if (whole) std::erase_if(own.engines, [&](const Engine& engine) { return ended_for(own, engine, 0); });
    if (whole) own.global_phase = marks_.next();
}

void Checker::exited(const WarpPlace& place, uint32_t lanes) {
    Block& own = block(place);
    WarpOrder& warp = own.warps[place.warp];
    warp.exited |= lanes;
    own.gone += static_cast<uint32_t>(std::popcount(lanes));
    // To the hardware who has ended has come to every barrier.
    own.ended[place.warp] = std::max(own.ended[place.warp], ++warp.clock);
    const size_t warps = own.warps.size();
    for (size_t w = warps; w < 2 * warps; ++w) own.ended[w] = std::max(own.ended[w], warp.seen[w]);
}

// The whole cluster waits, and what its blocks wrote before is seen by all.
void Checker::cluster_arrive(const WarpPlace& place, uint32_t lanes, const void* cluster) {
    Block& own = block(place);
    Barrier& barrier = own.barriers[cluster_barrier];
    WarpOrder& warp = own.warps[place.warp];
    join(barrier.clocks, warp.seen);
    barrier.clocks[place.warp] = warp.clock + 1;
    barrier.waiting[place.warp] |= lanes;
    snapshot(own, place.warp);
    const auto address = reinterpret_cast<uint64_t>(cluster);
    launch().order.leave(address, warp.fence);
    launch().order.learn(address, launch().clusters[cluster]);
}

void Checker::cluster_done(const WarpPlace& place, const void* cluster) {
    Block& own = block(place);
    Barrier& barrier = own.barriers[cluster_barrier];
    for (uint32_t w = 0; w < own.warps.size(); ++w) {
        WarpOrder& warp = own.warps[w];
        join(warp.seen, barrier.clocks);
        join(warp.knows, launch().clusters[cluster]);
        if (barrier.waiting[w]) warp.meet(barrier.waiting[w]);
        barrier.waiting[w] = 0;
    }
    std::fill(barrier.clocks.begin(), barrier.clocks.end(), 0);
}

void Checker::meet(const WarpPlace& place, const Op& op, uint32_t lanes, uint32_t gone, const std::byte* frame) {
    Block& own = block(place);
    WarpOrder& warp = own.warps[place.warp];
    const Kind what = kinds_[op.line];
    if (product_kinds_) meet_product(own, place, op, lanes, frame);
    const auto row = [&](uint32_t offset) { return reinterpret_cast<const uint32_t*>(frame + offset); };
    const uint32_t* masks = op.d ? row(op.d) : nullptr;
    const auto thread = [&](uint32_t lane) { return place.warp * warp_size + lane; };
    for (uint32_t rest = lanes; rest;) {
        const uint32_t mask = masks ? masks[std::countr_zero(rest)] : ~0u;
        uint32_t together = masks ? 0 : lanes;
        for (uint32_t i = 0; masks && i < warp_size; ++i) together |= uint32_t(masks[i] == mask) << i;
        together &= lanes;
        rest &= ~together;
        warp.meet(together);
        if (const uint32_t ended = mask & gone; ended && first_time("inactive-lane", op.line, 0)) {
            const Who here{own.serial, thread(static_cast<uint32_t>(std::countr_zero(together))), op.line, "names"};
            const Who there{own.serial, thread(static_cast<uint32_t>(std::countr_zero(ended))), op.line, "ended"};
            report("inactive-lane", "mask names an ended lane", "", nullptr, mask, here, &there);
        }
        if (what != Kind::up && what != Kind::down && what != Kind::bfly && what != Kind::idx) continue;
        const uint32_t *b = row(op.b), *c = row(op.c);
        for (uint32_t left = together; left; left &= left - 1) {
            const int lane = std::countr_zero(left);
            const int distance = int(b[lane] & 31), clamp = int(c[lane] & 31), segment = int((c[lane] >> 8) & 31);
            const int last = (lane & segment) | (clamp & ~segment);
            int source = 0;
            bool in_range = false;
            if (what == Kind::up) source = lane - distance, in_range = source >= last;
            if (what == Kind::down) source = lane + distance, in_range = source <= last;
            if (what == Kind::bfly) source = lane ^ distance, in_range = source <= last;
            if (what == Kind::idx) source = (lane & segment) | (distance & ~segment), in_range = source <= last;
            if (!in_range || (together >> source & 1)) continue;
            if (!first_time("inactive-lane", op.line, op.line)) break;
            const Who here{own.serial, thread(static_cast<uint32_t>(lane)), op.line, "shuffle"};
            const Who there{own.serial, thread(static_cast<uint32_t>(source)), op.line,
                            warp.present >> source & 1 ? "takes no part" : "does not exist"};
            report("inactive-lane", "reads from a lane that takes no part", "", nullptr, mask, here, &there);
            break;
        }
    }
}

}  // namespace softcuda::inspect
