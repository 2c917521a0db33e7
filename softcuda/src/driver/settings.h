// What the environment says, in variables whose names begin with SOFTCUDA_.
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
// Throws as `read_settings` if the program has since set to nonsense what launches read anew: SOFTCUDA_THREADS, _SEED,
// _TIMEOUT.
void check_launch_settings();

}  // namespace softcuda::driver
