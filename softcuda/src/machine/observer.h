// What the inspector hears.  Costs nothing when nobody listens: the machine tests one pointer per warp instruction group.
#pragma once

#include <cstdint>
#include <memory>

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
    // For whoever follows the order of accesses.  Reported before any check: an address may be wrong, and a fault follows.
    bool strong = false;                // volatile, relaxed, acquire, release
    bool release = false;               // with release semantics
    bool remote = false;                // shared memory of another block of the cluster, perhaps
    uint8_t value_bytes = 0;            // of an element in the rows that a store writes from; 0: not known
    const std::byte* frame = nullptr;   // holds those rows: Op::dst, or with several elements the list in Op::extra
    const std::byte* shared = nullptr;  // the block's shared memory
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
    // Lanes come to barrier `id` of the block; `waits`: not bar.arrive; `counted`: for a number of threads given.
    virtual void barrier(const WarpPlace&, const Op&, uint32_t /*lanes*/, uint32_t /*id*/, bool /*waits*/,
                         bool /*counted*/) {}
    // The barrier lets its lanes go: `threads` have come.
    virtual void barrier_done(const WarpPlace&, uint32_t /*id*/, uint32_t /*threads*/) {}
    // The barrier of the cluster, which `cluster` stands for.
    virtual void cluster_arrive(const WarpPlace&, uint32_t /*lanes*/, const void* /*cluster*/) {}
    virtual void cluster_done(const WarpPlace&, const void* /*cluster*/) {}
    // A .sync operation of a warp runs for `lanes`, its operands in `frame`; `gone`: lanes that have exited.
    virtual void meet(const WarpPlace&, const Op&, uint32_t /*lanes*/, uint32_t /*gone*/, const std::byte* /*frame*/) {}
    virtual void exited(const WarpPlace&, uint32_t /*lanes*/) {}

    // Whether blocks have to run one after another.
    virtual bool one_worker() const { return false; }
    // The memory that the next launch sees.
    virtual void sees(const std::shared_ptr<const Memory::View>&) {}
    // From any thread: memory that holds nothing of use yet; bytes that a copy or fill has written; what a context that
    // ends, or the process, has not freed.
    virtual void allocated(uint64_t /*address*/, uint64_t /*bytes*/) {}
    virtual void written(uint64_t /*address*/, uint64_t /*bytes*/) {}
    virtual void leaked(const Allocation&) {}
    virtual void process_end() {}
};

}  // namespace softcuda
