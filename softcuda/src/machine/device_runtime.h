// The device runtime (libcudadevrt): kernels that launch kernels, with streams, events and copies of their own.
//
// What a grid asks for waits in a queue.  It runs in the order it was asked for, and so in the order of every stream and
// behind every event, once the block that asked has ended (or spins for it).  What runs has its own children complete
// before the next begins; tail launches run when the grid and everything else it launched are complete.  A parent may
// not wait for its children on a GPU either: since CUDA 12 there is no cudaDeviceSynchronize() in kernels.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "machine/launch.h"
#include "machine/printer.h"

namespace softcuda {

// What the driver knows and kernels may ask; `int` results are cudaError_t.
class DeviceServices {
  public:
    virtual ~DeviceServices() = default;
    virtual bool attribute(int which, int& value) const = 0;  // cudaDeviceAttr
    // Whether the device can run it; `config` gets the cluster that the kernel requires.
    virtual int check(const Program& program, const Function& kernel, LaunchConfig& config, std::string& why) const = 0;
    virtual int blocks_per_sm(const Program& program, const Function& kernel, int threads, uint64_t shared) const = 0;
    virtual std::vector<std::byte> attributes(const Program& program, const Function& kernel) const = 0;
    virtual void say(const std::string& message) const = 0;
};

// Something that a grid has asked for.
struct DeviceWork {
    enum class Kind : uint8_t { grid, copy, fill } kind = Kind::grid;
    const Function* kernel = nullptr;
    LaunchConfig config;
    uint64_t to = 0, to_pitch = 0, from = 0, from_pitch = 0, width = 0, height = 1;  // copy and fill
    uint8_t value = 0;
};

// One a machine.
class DeviceRuntime {
  public:
    explicit DeviceRuntime(Memory& memory) : buffers(memory), memory_(memory) {}
    ~DeviceRuntime();
    void reserve();  // before a kernel that launches begins: its view of memory must hold what it is handed
    uint64_t error_name(int error) const;
    uint64_t error_text(int error) const;

    static constexpr int max_depth = 24;
    static constexpr uint64_t buffer_bytes = 8u << 20;
    DeviceHeap buffers;     // parameter buffers that are being filled
    uint64_t pending = 0;   // launches, copies and buffers that have not begun
    bool said_why = false;  // a refused launch is reported once a launch from the host

  private:
    Memory& memory_;
    uint64_t texts_ = 0;
};

// What a running grid has of it.  Kernels that use it run on one worker.
class GridRuntime {
  public:
    GridRuntime(DeviceRuntime& machine, int depth_of) : device(machine), depth(depth_of) {}
    ~GridRuntime();
    void run_pending();  // throws FaultError

    DeviceRuntime& device;
    const int depth;  // 0: launched by the host
    std::function<void(const DeviceWork&)> run;
    std::deque<DeviceWork> pending, tail;
    std::map<uint64_t, DeviceWork> buffers;        // by address: launches whose parameters are being written
    std::unordered_map<uint64_t, int> last_error;  // by thread
    std::set<uint64_t> streams, events;
    uint64_t next_handle = 0x1000;
};

Exec device_runtime_builtin(const std::string& name);  // null: not part of it, or not supported
bool in_device_runtime(const std::string& name);       // whether libcudadevrt is to define it

}  // namespace softcuda
