// Who listens to the machine, as SOFTCUDA_INSPECT asks: "profile:FOLDER", "check:FOLDER" or "trace:FOLDER".
#pragma once

#include "machine/launch.h"
#include "machine/observer.h"

namespace softcuda::inspect {

// One for a device, writing FOLDER/<process id>-<device>.jsonl; null if nothing is asked for or the variable says nothing
// known.
Observer* inspector(int device, uint32_t l1_bytes, uint32_t warps_per_sm);

}  // namespace softcuda::inspect
