// What the environment says: SOFTCUDA_DEVICE, _DEVICES, _MEMORY, _THREADS, _SEED, _TIMEOUT.
#pragma once

#include <cstdint>
#include <vector>

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
// One for each device.  Throws Fail(CUDA_ERROR_INVALID_VALUE) after one line on stderr that names the variable.
std::vector<Settings> read_settings();

}  // namespace softcuda::driver
