// What the inspector hears.  Costs nothing when nobody listens: the machine tests one pointer per warp instruction group.
#pragma once

#include <cstdint>

#include "machine/launch.h"
#include "machine/program.h"

namespace softcuda {

enum class Space : uint8_t { global, shared, local, constant, param, generic };
enum class Access : uint8_t { load, store, atomic, reduction };

struct WarpPlace {  // who is executing
    uint32_t block[3];
    uint32_t warp;    // index in the block
    uint32_t worker;  // worker thread: observers keep their sums per worker and add at launch_end
};

struct MemoryEvent {
    Space space;  // resolved: generic addresses are reported as what they point into
    Access access;
    uint32_t lanes;  // who takes part
    uint32_t bytes;  // per lane, all vector elements
    const uint64_t*
        addresses;  // 32 addresses, of which those in `lanes` count; shared: offset in the block's shared memory
};

// Called from worker threads; calls for one block come in order from one worker.
class Observer {
  public:
    virtual ~Observer() = default;
    virtual void launch_begin(const Program&, const Function&, const LaunchConfig&) {}
    virtual void launch_end(const Program&, const Function&, const LaunchConfig&, const LaunchResult&) {}
    virtual void block_begin(const WarpPlace&) {}
    virtual void block_end(const WarpPlace&) {}
    // `lanes`: whose guard holds; may be 0.
    virtual void instruction(const WarpPlace&, const Function&, const Op&, uint32_t /*lanes*/) {}
    virtual void memory(const WarpPlace&, const Op&, const MemoryEvent&) {}
    virtual void branch(const WarpPlace&, const Op&, uint32_t /*lanes*/, uint32_t /*taken*/) {}
    virtual void barrier(const WarpPlace&, const Op&, uint32_t /*lanes*/, bool /*completed*/) {}
};

}  // namespace softcuda
