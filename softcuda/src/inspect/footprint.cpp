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

void Footprint::learn(const Op& op, const RowAccess& row, uint32_t of_shift) {
    uint64_t addresses[warp_size];
    event_of(op, row, addresses);
    shift = of_shift;
    bytes = op.access_bytes;
    access = op.access;
    usable = false;
    runs = cells = 0;
    const uint32_t each = bytes >> shift;
    if (!pattern.keep(addresses, row.lanes) || each == 0 || each * warp_size > most_cells) return;
    low = high = 0;
    for (uint32_t rest = row.lanes; rest; rest &= rest - 1) {
        const int32_t delta = pattern.delta[std::countr_zero(rest)];
        if (delta % static_cast<int32_t>(bytes) != 0) return;
        low = std::min<int64_t>(low, delta);
        high = std::max<int64_t>(high, delta);
    }
    high += bytes;

    struct Touched {
        int32_t cell;
        uint32_t lane;
    };
    Touched touched[most_cells];
    uint32_t count = 0;
    const Stand stand = who_stands(*this);
    for (uint32_t rest = stand.lanes; rest; rest &= rest - 1) {
        const auto i = static_cast<uint32_t>(std::countr_zero(rest));
        for (uint32_t k = 0; k < each; ++k)
            touched[count++] = {(pattern.delta[i] >> shift) + static_cast<int32_t>(k),
                                Cell::of(0, i, stand.for_others >> i & 1)};
    }
    const auto before = [](const Touched& a, const Touched& b) { return a.cell < b.cell; };
    if (!std::is_sorted(touched, touched + count, before)) std::stable_sort(touched, touched + count, before);
    for (uint32_t i = 0; i < count; ++i) {
        if (i && touched[i].cell == touched[i - 1].cell) {  // the last lane is named
            if (access == Access::store) return;
            lane[cells - 1] = Cell::of(0, Cell::lane(touched[i].lane), true);
            continue;
        }
        if (i == 0 || touched[i].cell != touched[i - 1].cell + 1) run[runs++] = {touched[i].cell, cells, 0};
        ++run[runs - 1].count;
        cell[cells] = touched[i].cell;
        lane[cells++] = touched[i].lane;
    }
    scattered = runs > 2 && cells < 4 * runs;
    usable = true;
}

}  // namespace softcuda::inspect
