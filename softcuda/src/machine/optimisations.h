// Which fast paths are taken.  SOFTCUDA_OPTIMISE turns them off, to measure what they gain and to see whether a wrong
// result is theirs; README.md beside this file says what they are.
#pragma once

#include <string_view>

namespace softcuda {

struct Optimisations {
    bool registers = true, hoisting = true, plans = true, dots = true, affine = true, lockstep = true;
};

// `text` is "all", "none", or names of the above, a "no-" before those that are turned off: "no-affine,no-dots",
// "none,lockstep".  False: it is not, and `chosen` is undefined.
bool parse_optimisations(std::string_view text, Optimisations& chosen);

// This process's; all, where SOFTCUDA_OPTIMISE is not set or cannot be understood.
const Optimisations& optimisations();

}  // namespace softcuda
