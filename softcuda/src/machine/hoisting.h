// Hoisted instructions of a kernel need not run for every block: what they compute depends on the launch and the thread
// alone, or also on the block's row in the grid (%ctaid.y, %ctaid.z), which neighbours share.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/ast.h"

namespace softcuda {

// How often an instruction has to run in a warp: once in a launch, for each row of blocks, for each block.
enum class Frequency : uint8_t { launch, row, block };

struct Hoisting {
    explicit Hoisting(const ptx::Function& function);  // nothing is hoisted
    std::vector<Frequency> instructions;               // by index into the body
    std::vector<bool> kept;                            // by register: holds a hoisted value, and nothing else ever
    bool any = false;
};
// Hoisted are pure operations whose one result is a register that nobody else writes: they may run first of all, whether
// the kernel would come by or not.
Hoisting find_hoisting(const ptx::Function& function);

}  // namespace softcuda
