// What one device's kernels may use of another's memory.
#pragma once

#include <string>
#include <vector>

#include "driver/driver.h"

namespace softcuda::driver {

// Pinned, registered and managed memory, that of contexts to which access was enabled, and pools opened to this device.
std::vector<Allocation> visible_elsewhere(const Context& context);
// A line for the message of a fault at `address`, where another device's memory is the reason.
std::string why_not_visible(const Context& context, uint64_t address);

}  // namespace softcuda::driver
