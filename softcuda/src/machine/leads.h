// Values that follow from their warp's first lane: in every next lane they are a step more, which is known at load.
//
// Thread and block indices are such, what is computed of them by sums and constant factors, and so most addresses.  While
// the warps of a block are in step, these need no row: a *lead* is a frame whose lanes are the first lanes of the block's
// warps.  The instructions for such values run there, once for the block, as a kernel of their own; loads and stores take
// their addresses from it, and who else wants a value has it spread over a row.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/program.h"
#include "machine/stages.h"
#include "ptx/ast.h"

namespace softcuda {

// Where a 32-bit value becomes one of 64 bits, it must not wrap around between the first lane and the last.
struct NoWrap {
    size_t instruction;  // that widens it
    int32_t value;       // register
    int64_t step;
    bool is_signed;
};

struct Leads {
    std::vector<std::optional<int64_t>> step;  // by register; 0 of predicates, which are masks
    std::vector<NoWrap> checks;
};
// Only for blocks whose rows of threads are whole warps.  Each such register has one writer, which is pure (stages.h).
Leads find_leads(const ptx::Function& function);

// The kernel's instructions for the marked registers, where predicates are masks in 32-bit registers.
ptx::Function lead_source(const ptx::Function& kernel, const Leads& leads, const std::vector<bool>& wanted);

// Function::lead: what of a kernel runs on a block's lead.
struct LeadCode {
    Function function;
    struct Check {
        uint32_t row;       // of the lead
        uint32_t flipped;   // makes an unsigned value's order that of signed ones
        int32_t low, high;  // what its values, so flipped, must lie between
    };
    std::vector<Check> checks;
};

// Op::extra of loads and stores that run led.  Op::c: row of the lead, Op::imm: offset, as in `plain`.
struct LedAccess {
    const Op* plain;  // the same as written, for lanes, addresses and spans that are not as hoped
    Exec spread;      // gives `plain` the row it needs
    int64_t step;
};

}  // namespace softcuda
