#include "inspect/footprint.h"

#include <algorithm>

#include "inspect/shadow.h"

namespace softcuda::inspect {
namespace {

// Lanes whose cells need no look of their own: they read what another lane reads, which stands for them.
// All lanes one address; each half of the warp one; both halves the same, as in tiles of 16.
struct Stand {
    uint32_t lanes, for_others;
};
Stand who_stands(const Footprint& print) {
    const uint32_t lanes = print.pattern.lanes;
    const int32_t* delta = print.pattern.delta;
    if (print.access != Access::load) return {lanes, 0};
    bool one = true, uniform = lanes == all_lanes, same = uniform;
    for (int i = 0; i < warp_size; ++i) {
        one = one && (delta[i] == 0 || !(lanes >> i & 1));
        uniform = uniform && delta[i] == delta[i & 16];
        same = same && delta[i] == delta[i & 15];
    }
    const uint32_t first = lanes & (~lanes + 1);
    if (one) return {first, lanes == first ? 0 : first};
    if (uniform) return {1u | 1u << 16, 1u | 1u << 16};
    if (same) return {0xffff, 0xffff};
    return {lanes, 0};
}

}  // namespace

void Footprint::learn(const Loads& all, const RowAccess& row, uint32_t of_shift) {
    const Op& op = all[0];
    uint64_t addresses[warp_size];
    event_of(op, row, addresses);
    shift = of_shift;
    bytes = op.access_bytes;
    access = op.access;
    usable = false;
    runs.clear(), cells.clear(), lanes.clear();
    const uint32_t each = bytes >> shift;
    if (!pattern.keep(addresses, row.lanes) || each == 0 || each * warp_size * all.count > most_cells) return;
    low = high = 0;
    for (uint32_t rest = row.lanes; rest; rest &= rest - 1) {
        const int32_t delta = pattern.delta[std::countr_zero(rest)];
        if (delta % static_cast<int32_t>(bytes) != 0) return;
        low = std::min<int64_t>(low, delta);
        high = std::max<int64_t>(high, delta);
    }
    const auto further = [&](uint32_t i) -> int64_t {
        return int64_t(static_cast<int32_t>(all[i].imm)) - static_cast<int32_t>(op.imm);
    };
    int64_t least = 0, most = 0;
    for (uint32_t i = 1; i < all.count; ++i) {
        if (further(i) % static_cast<int64_t>(bytes) != 0) return;
        least = std::min(least, further(i));
        most = std::max(most, further(i));
    }
    low += least;
    high += most + static_cast<int64_t>(bytes);
    if (low != static_cast<int32_t>(low) || high != static_cast<int32_t>(high)) return;

    struct Touched {
        int32_t cell;
        uint32_t lane;
    };
    Touched touched[most_cells];
    uint32_t count = 0;
    const Stand stand = who_stands(*this);
    for (uint32_t which = 0; which < all.count; ++which)
        for (uint32_t rest = stand.lanes; rest; rest &= rest - 1) {
            const auto i = static_cast<uint32_t>(std::countr_zero(rest));
            const auto first = static_cast<int32_t>((pattern.delta[i] + further(which)) >> shift);
            for (uint32_t k = 0; k < each; ++k)
                touched[count++] = {first + static_cast<int32_t>(k), Cell::of(0, i, stand.for_others >> i & 1)};
        }
    const auto before = [](const Touched& a, const Touched& b) { return a.cell < b.cell; };
    if (!std::is_sorted(touched, touched + count, before)) std::stable_sort(touched, touched + count, before);
    for (uint32_t i = 0; i < count; ++i) {
        if (i && touched[i].cell == touched[i - 1].cell) {  // the last lane is named
            if (access == Access::store) return;
            const uint32_t before = lanes.back(), now = touched[i].lane;
            lanes.back() = Cell::of(0, Cell::lane(now), before != now || Cell::several(now));
            continue;
        }
        if (i == 0 || touched[i].cell != touched[i - 1].cell + 1)
            runs.push_back({touched[i].cell, static_cast<uint32_t>(cells.size()), 0});
        ++runs.back().count;
        cells.push_back(touched[i].cell);
        lanes.push_back(touched[i].lane);
    }
    scattered = runs.size() > 2 && cells.size() < 4 * runs.size();
    usable = true;
}

}  // namespace softcuda::inspect
