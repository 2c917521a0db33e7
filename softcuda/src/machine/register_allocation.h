// Which registers of a function may share a row: nvcc names a new one for each value, and a frame with a row for each is
// larger than the CPU's first-level cache.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/ast.h"

namespace softcuda {

struct RegisterAllocation {
    std::vector<int32_t> row_of;  // of each register: the one whose row it uses, often itself
    std::vector<bool> fresh;  // of each register: it may be read before it is written, so that its row begins as zeros
};
// Those of `kept` hold their value from block to block: a row of their own, never zeroed.
RegisterAllocation allocate_registers(const ptx::Function& function, const std::vector<bool>& kept);

}  // namespace softcuda
