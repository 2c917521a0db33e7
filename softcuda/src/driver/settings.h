// What the environment says: SOFTCUDA_DEVICE, _MEMORY, _THREADS, _SEED, _TIMEOUT.
#pragma once

#include <cstdint>

#include "machine/launch.h"

namespace softcuda {
struct DeviceProfile;
}

namespace softcuda::driver {

struct Settings {
    const DeviceProfile* profile = nullptr;
    uint64_t memory = 0;    // bytes
    MachineConfig machine;  // workers, seed and time limit filled in
};
// Throws Fail(CUDA_ERROR_INVALID_VALUE) after one line on stderr that names the variable.
Settings read_settings();

}  // namespace softcuda::driver
