// What is reported to the inspector.  Without an observer it costs nothing: the machine tests one pointer per warp
// instruction group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/async.h"
#include "machine/launch.h"
#include "machine/program.h"
#include "machine/warpgroup.h"

namespace softcuda {

struct WarpPlace {  // who is executing
    uint32_t block[3] = {};
    uint32_t warp = 0;    // index in the block
    uint32_t worker = 0;  // worker thread: observers keep their sums per worker and add at launch_end
    const Function* function = nullptr;
};

// Marks of an access, Op::small[3]: volatile and stronger; release semantics; st: log2 of the bytes of an element's row, in
// the upper half.
inline constexpr uint8_t mark_strong = 4;
inline constexpr uint8_t mark_release = 8;
inline uint8_t value_bytes_of(const Op& op) {
    const int value = op.small[3] >> 4;
    return static_cast<uint8_t>(value ? 1 << value : 0);
}

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
    bool asynchronous = false;          // through the asynchronous proxy: of a product
    const Op* running = nullptr;        // the instruction of the program that makes the access
};

// A copy of the asynchronous proxy that a lane begins: cp.async.bulk and what belongs to it.
struct BulkEvent {
    struct Range {
        uint64_t address;
        uint32_t bytes;
    };
    struct Shared {
        uint32_t block[3];    // whose shared memory
        uint32_t begin, end;  // offsets in it
        const void* barrier;  // that reports the end; null: the thread's groups do
        std::shared_ptr<const TransferState> state;
    };
    uint32_t lane;
    bool first;                         // of the instruction's
    Access access;                      // of global memory; load, too, where there is none
    std::vector<Range> global;          // row by row, what is inside of the tensor
    uint32_t rows = 0, row_bytes = 0;   // of the box, whatever is inside; 0: no global memory
    std::vector<Shared> written, read;  // several are written by a multicast
};

// An access of an Op that says itself what it does (Report::access), for the lanes in `lanes`, which are some.
struct RowAccess {
    uint32_t lanes;
    const std::byte* frame;   // holds the row of base addresses, and of a store the values
    const std::byte* shared;  // the block's shared memory
};
// Loads of shared memory from one row of base addresses, with nothing but arithmetic between them.
struct Loads {
    const Op* first;
    uint32_t count, apart;  // the next one is `apart` instructions on
    const Op& operator[](uint32_t i) const { return first[size_t(i) * apart]; }
};
// The same as an event: with the addresses of all lanes, in `addresses` (32).
MemoryEvent event_of(const Op& op, const RowAccess& access, uint64_t* addresses);

// A product of the warpgroup's, wgmma.mma_async, that the warp's wait computes.
struct ProductEvent {
    const Op* op;            // that issued it
    uint64_t number;         // of the warp's products in the block, from 0
    uint32_t count;          // how often it reads 16 bytes of shared memory,
    const uint32_t* places;  // and where: offsets in the block's
    uint32_t of_a;           // the first so many are A's: a quarter for each warp, which all read B
};

// Called from worker threads; calls for one block come in order from one worker.
class Observer {
  public:
    virtual ~Observer() = default;
    virtual void queued() {}  // from any thread: the host has asked for a launch
    virtual void launch_begin(const Program&, const Function&, const LaunchConfig&) {}
    virtual void launch_end(const Program&, const Function&, const LaunchConfig&, const LaunchResult&) {}
    virtual void block_begin(const WarpPlace&) {}
    virtual void block_end(const WarpPlace&) {}
    // `lanes` have run the instructions from `first` to before `end`, but for those whose guard did not hold: of these
    // `idle` reports, before.
    virtual void segment(const WarpPlace&, const Op* /*first*/, const Op* /*end*/, uint32_t /*lanes*/) {}
    virtual void idle(const WarpPlace&, const Op&, uint32_t /*lanes*/) {}
    // An instruction that is in no segment, as lanes have to meet in it; `lanes` may be 0.
    virtual void instruction(const WarpPlace&, const Op&, uint32_t /*lanes*/) {}
    // For observers that follow steps: before each instruction, with the lanes whose guard holds, which may be none, and
    // the rows of their frame.
    virtual void step(const WarpPlace&, const Op&, uint32_t /*lanes*/, const std::byte* /*frame*/) {}
    // Report::orders; `lanes` are some.
    virtual void orders(const WarpPlace&, const Op&, uint32_t /*lanes*/) {}
    virtual void access(const WarpPlace& place, const Op& op, const RowAccess& access) {
        uint64_t addresses[warp_size];
        memory(place, op, event_of(op, access, addresses));
    }
    virtual void loads(const WarpPlace& place, const Loads& all, const RowAccess& row) {
        for (uint32_t i = 0; i < all.count; ++i) access(place, all[i], row);
    }
    // The accesses of other instructions.
    virtual void memory(const WarpPlace&, const Op&, const MemoryEvent&) {}
    virtual void bulk(const WarpPlace&, const Op&, const BulkEvent&) {}
    // Lanes have seen an mbarrier's phase end; or, with null, groups of their bulk copies.
    virtual void waited(const WarpPlace&, const Op&, uint32_t /*lanes*/, const void* /*barrier*/) {}
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
    virtual void product(const WarpPlace&, const ProductEvent&) {}
    virtual void exited(const WarpPlace&, uint32_t /*lanes*/) {}

    virtual bool follows_steps() const { return false; }
    // Whether it wants Program::operands of what is loaded.
    virtual bool reads_values() const { return false; }
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
