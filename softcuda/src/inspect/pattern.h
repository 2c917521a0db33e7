// The addresses of a warp's lanes, as they lie to each other.
//
// An instruction in a loop, or of another warp or block, names the same pattern again and again, somewhere else: what
// follows from the pattern alone is worked out once and kept beside it.
#pragma once

#include <bit>
#include <cstdint>

#include "machine/observer.h"

namespace softcuda::inspect {

// Loops over 32 lanes, for what the CPU at hand can do.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SOFTCUDA_WIDE [[gnu::target_clones("default", "avx2", "avx512f")]]
#else
#define SOFTCUDA_WIDE
#endif

// The row of addresses of an access, before its offset is added.
struct BaseRow {
    const void* row;
    bool wide;        // elements of 64 bits
    uint32_t lanes;   // that take part
    uint64_t first;   // the first one's address, offset included
    uint32_t spread;  // how far the last one's is from it: distinguishes most patterns

    BaseRow(const Op& op, const RowAccess& access) : wide(op.small[1] == 8), lanes(access.lanes) {
        const int low = std::countr_zero(lanes), high = 31 - std::countl_zero(lanes);
        if (wide) {
            const auto* base = reinterpret_cast<const uint64_t*>(access.frame + op.a);
            row = base;
            first = base[low] + op.imm;
            spread = static_cast<uint32_t>(base[high] - base[low]);
        } else {
            const auto* base = op.small[1] ? reinterpret_cast<const uint32_t*>(access.frame + op.a) : zeros;
            row = base;
            first = op.small[1] ? base[low] + static_cast<uint32_t>(op.imm) : op.imm;
            spread = base[high] - base[low];
        }
    }

  private:
    static const uint32_t zeros[warp_size];  // of an address without a base
};

class Pattern {
  public:
    bool matches(const BaseRow& base) const { return base.lanes == lanes && (base.wide ? wide(base) : narrow(base)); }
    // False: they lie too far apart to be kept.
    bool keep(const uint64_t* addresses, uint32_t of_lanes);
    void forget() { lanes = 0; }

    alignas(64) int32_t delta[warp_size];  // from the first lane's that takes part
    uint32_t lanes = 0;                    // 0: nothing is kept

  private:
    bool wide(const BaseRow& base) const;
    bool narrow(const BaseRow& base) const;
};

// Whether patterns of an instruction come again.  Where they never do, as in a gather, it is not worth while to keep them.
class Credit {
  public:
    bool exhausted() {
        if (pause_) --pause_;
        return pause_;
    }
    void met_again() { credit_ += credit_ < most; }
    void met_another() {
        credit_ -= learning;
        if (credit_ >= 0) return;
        pause_ = pauses;
        credit_ = learning;
    }

  private:
    static constexpr int most = 64, learning = 8;
    static constexpr uint32_t pauses = 1000;
    int credit_ = most;
    uint32_t pause_ = 0;
};

// A few patterns of one instruction, found by what is quickly seen of an access; `which` is one of four kinds to be kept
// apart in any case.
template <class Entry>
struct Patterns {
    Entry entries[8];
    Entry& at(const BaseRow& base, uint32_t which) {
        const uint32_t mixed = base.lanes * 0x9e3779b1u + base.spread * 0x85ebca6bu;
        return entries[(mixed >> 28 ^ which) & 7];
    }
};

}  // namespace softcuda::inspect
