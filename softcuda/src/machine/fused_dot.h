// Fused dot products: runs of  ld.shared x, [a + i]; ld.shared y, [b + j]; fma sum, x, y, sum  with the same a and b, as
// unrolled loops over tiles are.  They run as one operation, which keeps the sum and what it knows of a and b in the
// CPU's registers; where that does not go (addresses far apart, idle lanes, a fault), as the instructions that they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/program.h"
#include "ptx/ast.h"

namespace softcuda {

struct FusedDotPlace {
    size_t first = 0, steps = 0;  // instructions `first` to `first + 3 * steps`
};
// Where nobody else reads what the loads and all sums but the last leave in their registers.
std::vector<FusedDotPlace> find_fused_dots(const ptx::Function& function);

// Op::extra.  Op::a, b: rows of the two addresses, c: of the sum before, dst: of the sum behind.
struct FusedDot {
    struct Step {
        uint32_t a, b;  // offsets
    };
    std::vector<Step> steps;
    int64_t low[2], high[2];  // the least and the greatest offset of a and of b
    const Op* parts;          // three a step
};

// The Op that stands for the parts, 3 * steps of them; `exec` is the SIMD level's.  False: they do not fit together.
bool make_fused_dot(Exec exec, const Op* parts, size_t steps, Op& op, FusedDot& dot);

}  // namespace softcuda
