// Affine values: lane i has base + i * stride; the base is the first lane's value, and the stride is known at load.
//
// Thread and block indices are such, what is computed of them by sums and constant factors, and so most addresses.  While
// the warps of a block run in lockstep, these need no row: the bases of all warps lie in one frame, warp w's in lane w.
// The instructions for such values run there, once for the block, as a kernel of their own; loads and stores take their
// addresses from it, and for whatever else wants a value it is expanded into a row.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/program.h"
#include "ptx/ast.h"

namespace softcuda {

// Where a 32-bit value becomes one of 64 bits, it must not wrap around between the first lane and the last.
struct NoWrap {
    size_t instruction;  // that widens it
    int32_t value;       // register
    int64_t stride;
    bool is_signed;
};

struct AffineValues {
    std::vector<std::optional<int64_t>> stride;  // by register; 0 of predicates, which are masks
    std::vector<NoWrap> checks;
};
// Only for blocks whose rows of threads are whole warps.  Each such register has one writer, which is pure (effects.h).
AffineValues find_affine_values(const ptx::Function& function);

// The kernel's instructions for the marked registers, where predicates are masks in 32-bit registers.
ptx::Function base_source(const ptx::Function& kernel, const AffineValues& affine, const std::vector<bool>& wanted);

// Function::bases: what of a kernel computes the bases of affine values.
struct BaseCode {
    Function function;
    struct Check {
        uint32_t row;       // of the bases
        uint32_t flipped;   // makes an unsigned value's order that of signed ones
        int32_t low, high;  // what its values, so flipped, must lie between
    };
    std::vector<Check> checks;
};

// Op::extra of loads and stores at affine addresses.  Op::c: row of the bases, Op::imm: offset, as in `plain`.
struct AffineAccess {
    const Op* plain;  // the same as written, for lanes, addresses and spans that are not as hoped
    Exec expand;      // gives `plain` the row it needs
    int64_t stride;
};

}  // namespace softcuda
