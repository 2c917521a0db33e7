// Running a kernel: what the driver asks of the machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "machine/memory.h"
#include "machine/program.h"
#include "machine/warp.h"

namespace softcuda {

struct Dim3 {
    uint32_t x = 1, y = 1, z = 1;
    uint64_t count() const { return uint64_t(x) * y * z; }
};

class DeviceServices;
class Observer;

// Blocks an SM holds, as far as each resource allows; for observers.
struct OccupancyLimits {
    int warps = 0, registers = 0, shared = 0, blocks = 0;
};

struct LaunchConfig {
    Dim3 grid, block, cluster;
    uint32_t dynamic_shared = 0;        // bytes
    bool cooperative = false;           // every block stays resident; %envreg1/2 point to the grid-sync workspace
    OccupancyLimits occupancy;          // filled in when somebody observes
    std::vector<std::byte> params;      // Function::param_bytes long, laid out as the kernel's .param space
    std::vector<Allocation> elsewhere;  // what the kernel may use of other devices' memory
    uint64_t interrupts = 0;            // their number (interrupts.h) when the launch was asked for
};

struct LaunchResult {
    bool ok = true;
    FaultKind kind = FaultKind::internal;
    std::string message;  // several lines are allowed; the first says all: kind, kernel, block, thread, source line
    uint64_t address = 0;
};

// What of a device a kernel can see; the driver fills it from the profile.
struct MachineConfig {
    int sm_count = 132;
    int warps_per_sm = 64;
    int capability = 90;
    uint32_t shared_per_block = 232448;     // opt-in limit, bytes
    uint64_t device_heap_bytes = 8u << 20;  // malloc() in kernels
    uint32_t stack_limit = 64u << 10;       // local bytes a thread, .local variables and call frames
    uint32_t clock_khz = 1980000;
    int workers = 0;  // 0: hardware concurrency (SOFTCUDA_THREADS)
    uint64_t shuffle_seed =
        0;                    // 0: deterministic order; else warps and blocks in a seeded random order (SOFTCUDA_SEED)
    double time_limit_s = 0;  // 0: none (SOFTCUDA_TIMEOUT)
    uint64_t pending_launches = 2048;          // of kernels by kernels: what may wait at once
    const DeviceServices* services = nullptr;  // for kernels that launch kernels; null: they cannot
};

class Machine {
  public:
    Machine(const MachineConfig& config, Memory& memory);
    ~Machine();
    // Blocks until the grid is done or failed.  Checked by the driver before: dimensions, shared memory, parameter size.
    // One launch at a time uses all workers; concurrent calls from several streams queue inside.
    LaunchResult launch(const Program& program, const Function& kernel, const LaunchConfig& config);
    void set_observer(Observer* observer);  // null: none; not while a launch runs
    bool observed() const;
    Observer* observer() const;
    void set_printer(std::function<void(std::string_view)> printer);  // device printf; default: write(1, …)
    bool holds_printf() const;                                        // there is something to flush
    void flush_printf();  // called by the driver at synchronisation, module unload and context end
    const MachineConfig& config() const;
    void set_config(const MachineConfig& config);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace softcuda
