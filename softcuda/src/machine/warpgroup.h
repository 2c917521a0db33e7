// Products of warpgroups (wgmma.mma_async) that are issued and not waited for.
//
// PTX lets a product read its operands and write its sums at any time up to the wait for it.  Here both happen at the wait,
// of whichever of the warpgroup's four warps waits first: operands that are overwritten too early, and sums that are read
// too early, give wrong results, the same in every run.  A warp waits until all four have committed the groups that it
// waits for, as the four multiply together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/program.h"

namespace softcuda {

class Block;
class WarpState;

inline constexpr uint32_t warps_in_group = 4;
// Products under way in a warp; where a program issues more before it waits, the oldest are computed.
inline constexpr size_t most_products = 1024;

struct IssuedProduct {
    const Op* op = nullptr;
    std::byte* frame = nullptr;  // holds the rows of its registers
    uint64_t a = 0, b = 0;       // descriptors
    bool adds = false;           // to what the registers of D hold
    uint64_t number = 0;         // of the warp's, from 0
    uint64_t group = 0;          // how many groups the warp had committed before
};

struct WarpProducts {
    std::vector<IssuedProduct> under_way;
    uint64_t issued = 0, committed = 0;
    const Op* last = nullptr;  // issued
};

struct Warpgroup {
    std::array<WarpProducts, warps_in_group> warps;
};

WarpProducts& products_of(WarpState& warp);
// Whether all warps of the group have committed what `wait` of `warp` waits for.
bool products_committed(WarpState& warp, const Op& wait);
// The other warps of the group that wait for this one look again.
void wake_warpgroup(WarpState& warp);
// A device function returns: its registers must not be a product's.
void check_products_on_return(WarpState& warp, const Op& op, const std::byte* frame);
// At the end of a block.  Products that nobody has waited for have no effect.
void finish_products(Block& block);

}  // namespace softcuda
