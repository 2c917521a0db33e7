// How many blocks of a kernel one multiprocessor holds.
#pragma once

#include <cstddef>

#include "driver/module.h"

namespace softcuda::driver {

struct Occupancy {
    int warps, registers, shared, blocks;  // blocks an SM holds as far as each resource allows
    int limit() const;                     // the least of them
};
// `kernel` with `threads` a block and `dynamic_shared` bytes; all zero where no block fits.
Occupancy occupancy(const Device& device, const Kernel& kernel, int threads, size_t dynamic_shared);
int registers_of_block(int registers, int threads);  // as allocated: warps in fours, 256 registers at a time

}  // namespace softcuda::driver
