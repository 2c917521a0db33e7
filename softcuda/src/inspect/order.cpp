#include "inspect/order.h"

#include <algorithm>
#include <bit>

namespace softcuda::inspect {

void join(Clocks& into, const Clocks& other) {
    for (size_t i = 0; i < std::min(into.size(), other.size()); ++i) into[i] = std::max(into[i], other[i]);
}

void join(Knowledge& into, const Knowledge& other) {
    for (const Known& known : other) {
        auto same = std::find_if(into.begin(), into.end(), [&](const Known& k) { return k.log == known.log; });
        if (same == into.end())
            into.push_back(known);
        else
            same->entries = std::max(same->entries, known.entries);
    }
}

// --- lanes of a warp

void WarpOrder::start(uint32_t lanes, size_t warps) {
    present = lanes;
    exited = 0;
    clock = 1;
    floor = 0;
    parted = false;
    seen.assign(warps, 0);
    fence = no_snapshot;
    fenced = 0;
    knows.clear();
}

void WarpOrder::part() {
    if (parted) return;
    if (!lane_floor) lane_floor = std::make_unique<std::array<std::array<uint32_t, 32>, 32>>();
    for (auto& row : *lane_floor) row.fill(floor);
    parted = true;
}

void WarpOrder::meet(uint32_t lanes) {
    ++clock;
    if ((present & ~exited & ~lanes) == 0) {
        floor = clock;
        parted = false;
        return;
    }
    part();
    std::array<uint32_t, 32> common{};
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const auto& row = (*lane_floor)[std::countr_zero(rest)];
        for (size_t i = 0; i < 32; ++i) common[i] = std::max(common[i], row[i]);
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1) common[std::countr_zero(rest)] = clock;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) (*lane_floor)[std::countr_zero(rest)] = common;
}

void WarpOrder::follow(uint32_t lane, uint32_t other, uint32_t until) {
    part();
    auto& row = (*lane_floor)[lane];
    const auto& theirs = (*lane_floor)[other];
    for (size_t i = 0; i < 32; ++i) row[i] = std::max(row[i], theirs[i]);
    row[other] = std::max(row[other], until + 1);
}

// --- blocks

uint32_t GridOrder::add(Snapshot snapshot) {
    snapshots_.push_back(std::move(snapshot));
    return static_cast<uint32_t>(snapshots_.size() - 1);
}

void GridOrder::leave(uint64_t address, uint32_t snapshot) {
    Log& log = logs_[address];
    if (!log.snapshots.empty() && log.snapshots.back() == snapshot) return;
    log.of_block[snapshots_[snapshot].block].push_back(static_cast<uint32_t>(log.snapshots.size()));
    log.snapshots.push_back(snapshot);
}

void GridOrder::learn(uint64_t address, Knowledge& knows) const {
    if (logs_.empty()) return;
    auto found = logs_.find(address);
    if (found == logs_.end()) return;
    join(knows, {{&found->second, static_cast<uint32_t>(found->second.snapshots.size())}});
}

bool GridOrder::before(const Mark& mark, const Knowledge& knows) const {
    if (knows.empty()) return false;
    constexpr size_t patience = 100'000;  // then whatever is asked for is taken for ordered: nobody is accused wrongly
    std::vector<Known> todo = knows;
    std::unordered_map<const Log*, uint32_t> done;  // entries looked at
    for (size_t steps = 0; !todo.empty();) {
        const Known known = todo.back();
        todo.pop_back();
        uint32_t& looked = done[known.log];
        if (looked >= known.entries) continue;
        if (auto own = known.log->of_block.find(mark.block); own != known.log->of_block.end())
            for (uint32_t at : own->second)
                if (at < known.entries && mark.clock < snapshots_[known.log->snapshots[at]].clocks[mark.warp])
                    return true;
        for (uint32_t i = looked; i < known.entries; ++i) {
            const Knowledge& theirs = snapshots_[known.log->snapshots[i]].knows;
            for (const Known& next : theirs) {
                auto at = done.find(next.log);
                if (at == done.end() || at->second < next.entries) todo.push_back(next);
            }
            if (++steps > patience) return true;
        }
        done[known.log] = known.entries;
    }
    return false;
}

}  // namespace softcuda::inspect
