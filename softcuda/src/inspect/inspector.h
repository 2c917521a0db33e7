// Who listens to the machine, as SOFTCUDA_INSPECT asks: "profile:FOLDER", "check:FOLDER" or "trace:FOLDER".
#pragma once

#include <string_view>

#include "machine/launch.h"
#include "machine/observer.h"

namespace softcuda::inspect {

// Whether SOFTCUDA_INSPECT may say so.
bool is_inspection(std::string_view text);
// One for a device, writing FOLDER/<process id>-<device>.jsonl; null if nothing is asked for.
Observer* inspector(int device, uint32_t l1_bytes, uint32_t warps_per_sm);

}  // namespace softcuda::inspect
