// Which cells of a shadow a pattern of addresses touches.
#pragma once

#include "inspect/pattern.h"

namespace softcuda::inspect {

struct Footprint {
    static constexpr uint32_t most_cells = warp_size * 4;

    // Cells side by side: `count` of them, whose lanes are lane[begin] and on.
    struct Run {
        int32_t at;  // from the cell of the first address
        uint32_t begin, count;
    };

    Pattern pattern;
    uint32_t shift = 0, bytes = 0;
    Access access = Access::load;
    bool usable = false;        // every cell is whole, and none is written by two lanes
    int64_t low = 0, high = 0;  // the bytes touched, from the first address
    uint32_t runs = 0, cells = 0;
    Run run[warp_size];
    bool scattered = false;                 // runs are short, so that they are better looked at cell by cell:
    int32_t cell[most_cells];               // as Run::at
    alignas(64) uint32_t lane[most_cells];  // as a Cell has it: the lane, and whether others touch it too

    bool fits(const Op& op, const BaseRow& base, uint32_t of_shift) const {
        return shift == of_shift && bytes == op.access_bytes && access == op.access && pattern.matches(base);
    }
    void learn(const Op& op, const RowAccess& access, uint32_t of_shift);
};

// Of an instruction.  One whose addresses never come again, as in a gather, is better looked at the long way.
class Footprints {
  public:
    // Null: take the long way.
    const Footprint* of(const Op& op, const RowAccess& access, const BaseRow& base, uint32_t shift) {
        if (pause_) {
            --pause_;
            return nullptr;
        }
        Footprint& found = kept_.at(base, 0);
        if (found.fits(op, base, shift)) {
            credit_ += credit_ < most_credit;
            return &found;
        }
        found.learn(op, access, shift);
        credit_ -= learning;
        if (credit_ < 0) {
            pause_ = pauses;
            credit_ = learning;
        }
        return &found;
    }

  private:
    static constexpr int most_credit = 64, learning = 8;
    static constexpr uint32_t pauses = 1000;
    int credit_ = most_credit;
    uint32_t pause_ = 0;
    Patterns<Footprint> kept_;
};

}  // namespace softcuda::inspect
