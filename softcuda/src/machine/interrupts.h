// Ctrl-C, as launches see it.
#pragma once

#include <atomic>
#include <cstdint>

namespace softcuda {

// How often the user has interrupted this process.  A launch notes the number when it is asked for, and ends once the
// number has changed: so an interrupt ends what runs and what waits, and nothing that is asked for later.
inline std::atomic<uint64_t> interrupts{0};

}  // namespace softcuda
