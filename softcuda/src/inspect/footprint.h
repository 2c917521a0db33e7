// Which cells of a shadow a pattern of addresses touches.
#pragma once

#include <vector>

#include "inspect/pattern.h"

namespace softcuda::inspect {

// Of an access, or of loads that are reported together.
struct Footprint {
    static constexpr uint32_t most_cells = warp_size * 64;

    // Cells side by side: `count` of them, whose lanes are lanes[begin] and on.
    struct Run {
        int32_t at;  // from the cell of the first address
        uint32_t begin, count;
    };

    Pattern pattern;
    uint32_t shift = 0, bytes = 0;
    Access access = Access::load;
    bool usable = false;        // every cell is whole, and none is written by two lanes
    int64_t low = 0, high = 0;  // the bytes touched, from the first address
    std::vector<Run> runs;
    bool scattered = false;       // runs are short, so that they are better looked at cell by cell:
    std::vector<int32_t> cells;   // as Run::at
    std::vector<uint32_t> lanes;  // as a Cell has it: the lane, and whether others touch it too

    bool fits(const Op& op, const BaseRow& base, uint32_t of_shift) const {
        return shift == of_shift && bytes == op.access_bytes && access == op.access && pattern.matches(base);
    }
    void learn(const Loads& all, const RowAccess& access, uint32_t of_shift);
};

// Of an instruction.
class Footprints {
  public:
    // Null: take the long way.
    const Footprint* of(const Loads& all, const RowAccess& access, const BaseRow& base, uint32_t shift) {
        if (credit_.exhausted()) return nullptr;
        Footprint& found = kept_.at(base, 0);
        if (found.fits(all[0], base, shift)) {
            credit_.met_again();
            return &found;
        }
        found.learn(all, access, shift);
        credit_.met_another();
        return &found;
    }

  private:
    Credit credit_;
    Patterns<Footprint> kept_;
};

}  // namespace softcuda::inspect
