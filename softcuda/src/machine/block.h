// Warps, blocks and workers: what is running.
//
// A warp is a list of *groups* of lanes that share a program counter and a frame.  Uniform flow is one group; a
// divergent branch splits a group, and groups that reach the same instruction of the same activation merge again.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "machine/async.h"
#include "machine/launch.h"
#include "machine/memory.h"
#include "machine/observer.h"
#include "machine/program.h"
#include "machine/warp.h"
#include "machine/warpgroup.h"

namespace softcuda {

class Launch;
class WarpState;

// One activation of a function by some lanes of a warp.
struct Frame {
    std::byte* rows = nullptr;
    const Function* function = nullptr;
    const Op* code = nullptr;        // what runs of the function
    Frame* parent = nullptr;         // null: the kernel itself
    const CallSite* site = nullptr;  // in the parent
    uint32_t return_pc = 0;
    uint32_t references = 0;  // groups that run in it, and child frames
    uint32_t depth = 0;
    uint32_t local_base = 0;   // offset of its .local variables in each thread's local memory
    uint32_t stack_taken = 0;  // at the end of local memory, by the callers' alloca
    Frame* next_free = nullptr;
};

enum class Wait : uint8_t { ready, meet, barrier, cluster, warpgroup };

struct Group {
    uint32_t lanes = 0;
    uint32_t pc = 0;
    Frame* frame = nullptr;
    Wait wait = Wait::ready;
    uint8_t barrier = 0;     // which, if it waits at one
    const Op* op = nullptr;  // where it waits
    int64_t age = 0;         // work the warp has done while this group was ready and did not run
};

// What a bar/barrier instruction asks for; its exec fills it in.
struct BarrierRequest {
    enum class Kind : uint8_t { sync, arrive, popc, all, any };
    uint32_t id = 0;
    uint32_t threads = 0;  // 0: all of the block
    Kind kind = Kind::sync;
    uint32_t votes = 0;  // lanes whose predicate holds
};

// Work a spinning operation counts for: after a dozen, another warp gets its turn; after 64, another group of lanes.
inline constexpr int64_t spin_work = 16384;

// Runs until the slice is used, every lane waits, or all have exited.
enum class Stop : uint8_t { preempted, waiting, done };

class WarpState : public Warp {
  public:
    void start(const Function& kernel);
    Stop run(int64_t slice);
    bool finished() const { return groups.empty(); }
    bool runnable() const;
    const WarpPlace& place() const { return place_; }
    // Warp instructions run so far, as seen from inside `op` (which is running): the clock.
    uint64_t clock_at(const Op& op) const { return clock + uint64_t(&op - segment_begin); }
    void reduce_result(const Group& group, uint32_t value);  // of bar.red, into the waiting lanes' row
    std::string waits() const;                               // "lanes 0x0000ffff wait at bar.sync (x.cu:12)"
    void report_until_here();  // to the observer: what of a segment has run when a fault ends it

    std::vector<Group> groups;
    Frame* current = nullptr;     // frame of the group that runs
    const Op* running = nullptr;  // the instruction that runs, if there is an observer
    uint32_t segment_lanes = 0;   // whose segment is not reported yet
    uint64_t clock = 0;
    const Op* segment_begin = nullptr;
    BarrierRequest request;
    int64_t spent = 0;  // work in this run() so far; an operation that takes long adds to it
    uint64_t spin_total = 0;
    uint32_t cluster_pending = 0;       // lanes that have arrived at the cluster's barrier, which is not complete yet
    const uint64_t* awaited = nullptr;  // the mbarrier that it has just asked, whose phase has not ended,
    const Op* awaited_at = nullptr;     // and where
    std::string awaits() const;         // "warp 0 waits at an mbarrier for 1 arrival and 96 bytes …"
    std::string due() const;            // the same from "at an mbarrier" on
    // Since it was asked last, the warp has waited for others, or has run nothing but a loop around that mbarrier test.
    bool only_waited();
    std::unique_ptr<ThreadCopies> copies;         // null: no asynchronous copy so far
    uint64_t clock_before = 0, spins_before = 0;  // when only_waited() was asked last
    Frame kernel_frame;                           // kept from block to block: most of what it holds does not change
    bool meet_ready(const Op& op, uint32_t lanes, uint32_t arrived);

  private:
    template <bool observed, bool followed>
    Stop run_loop(int64_t slice);
    void run_unobserved(const Op& op, uint32_t lanes);
    template <bool followed>
    uint32_t run_reported(const Op& op, uint32_t lanes);
    WarpPlace place_;
    Group* select();
    void merge();
    void remove(size_t index);
    uint32_t merge_point(const Group& group) const;
    bool resolve_meets();
    void run_gathered(const std::vector<size_t>& members, uint32_t lanes);
    Frame* make_frame(const Function& function, Frame* parent, uint32_t local_base, uint32_t stack_taken);
    void refresh(Frame& frame);
    uint32_t begin_kernel(const Function& kernel);
    uint32_t grid_row_[2] = {0, 0};  // of the block before: %ctaid.y and %ctaid.z
    void release(Frame* frame);
    void call(Group& group, const Op& op, const Function& callee, uint32_t lanes);
    void call_indirect(Group& group, const Op& op, uint32_t lanes);
    void branch_table(Group& group, const Op& op, uint32_t lanes);
    void finish(Group& group, const Op& op, uint32_t lanes, bool whole_thread);
    Group& split(size_t index, uint32_t lanes);
    uint32_t favoured = 0;      // lanes that run next although others come first, to be fair …
    int64_t favoured_left = 0;  // … for this much work
};

struct Barrier {
    uint32_t expected = 0;      // threads; 0: all that live
    uint32_t arrived = 0;       // threads, absent lanes of the warps that came included when `expected`
    uint32_t live_arrived = 0;  // threads that really came
    uint32_t gone = 0;          // of those, who only arrived (bar.arrive) and have exited since
    uint32_t votes = 0;         // whose predicate held
    bool pending = false;
    std::vector<uint32_t> lanes;  // of each warp, those that came
};

struct Cluster;

// The bases of a block's affine values (affine.h): a warp of its own, whose lane w computes for the first lane of warp w.
class AffineBases {
  public:
    AffineBases(Block& block, const BaseCode& code);
    ~AffineBases();
    AffineBases(const AffineBases&) = delete;
    AffineBases& operator=(const AffineBases&) = delete;
    // For the block that begins.  False: it has values that do not follow from their bases.
    bool begin();
    const std::byte* rows() const { return warp_.frame; }

  private:
    bool holds() const;
    Block& block_;
    const BaseCode& code_;
    WarpState warp_;
    uint32_t grid_row_[2] = {0, 0};  // of the block before: %ctaid.y and %ctaid.z
    bool begun_ = false;
};

class Block {
  public:
    Launch* launch = nullptr;
    Worker* worker = nullptr;
    Cluster* cluster = nullptr;  // without clusters, one of its own
    uint64_t number = 0;         // linear index in the grid
    uint32_t index[3] = {0, 0, 0};
    uint32_t smid = 0;
    uint32_t cluster_rank = 0;
    std::byte* shared = nullptr;
    uint32_t shared_bytes = 0;   // reserved, static and dynamic
    std::byte* local = nullptr;  // thread t's begins at t * local_stride
    uint32_t local_stride = 0;
    uint32_t live = 0;  // threads that have not exited
    uint32_t live_warps = 0;
    std::vector<std::unique_ptr<WarpState>> warps;
    std::vector<Warp*> all_warps;        // the same
    std::vector<uint32_t> order;         // in which warps take turns
    std::byte* frames = nullptr;         // of the kernel, warp after warp
    uint32_t frame_stride = 0;           // bytes
    bool may_lockstep = false;           // no observer, no order is asked for, and every warp has all its lanes
    std::unique_ptr<AffineBases> bases;  // null: not for this kernel, or not with blocks of this shape
    const Op* code = nullptr;            // of the kernel, for the block that runs
    std::array<Barrier, 16> barriers;
    uint32_t pending_barriers = 0;      // how many have arrivals
    std::vector<Warpgroup> warpgroups;  // empty: none has issued a product

    // The lanes come to the barrier.  True: it is complete (others have been released), or they need not wait.
    bool arrive(WarpState& warp, const Op& op, uint32_t lanes, uint32_t& result);
    void arrive_in_cluster(WarpState& warp, uint32_t lanes);
    void lanes_exited(WarpState& warp, uint32_t lanes);
    std::string waits() const;
    // lockstep.cpp: whether all warps stand at one instruction; and on from there, together.
    bool in_lockstep() const;
    int64_t run_lockstep(int64_t slice);

  private:
    bool pass_barrier_in_lockstep(const Op& op);
    void release(uint32_t id);
    bool complete(const Barrier& barrier) const;
    void complete_pending();
};

// Where an access is known to be legal: lo <= address, address + bytes <= hi.
struct Span {
    uint64_t lo = 1, hi = 0;
};

// The blocks that advance together; without clusters, one.
struct Cluster {
    std::vector<Block*> blocks;  // that still run
    std::vector<Block*> ranks;   // all; null: has ended, and its shared memory with it
    uint32_t arrived = 0;        // threads, at barrier.cluster
    void complete_barrier();     // if everybody has arrived
    int64_t spent = 0;
    uint64_t spins = 0;
    uint32_t idle_turns = 0;            // in a row, in which its warps have only waited
    std::unique_ptr<AsyncQueue> async;  // null: no asynchronous copy so far
};

class Worker {
  public:
    Worker(Launch& launch, int index);
    ~Worker();
    void run();

    Launch& launch;
    const int index;
    bool alone = true;                         // no other worker runs this launch: atomics need not be the host's
    std::shared_ptr<const Memory::View> view;  // as of this turn: what is freed meanwhile is missed in the next one
    static constexpr size_t span_count = 64;
    std::array<Span, span_count> load_spans, store_spans;  // by instruction: the allocation it touched last
    Span& load_span(const Op& op) { return load_spans[(reinterpret_cast<uintptr_t>(&op) / sizeof(Op)) % span_count]; }
    Span& store_span(const Op& op) { return store_spans[(reinterpret_cast<uintptr_t>(&op) / sizeof(Op)) % span_count]; }

    Frame* take_frame(const Function& function);
    void give_frame(Frame* frame);
    static constexpr uint64_t frame_limit = uint64_t(2) << 30;
    uint64_t frame_bytes = 0;  // of the host's memory, for all frames

  private:
    bool admit();
    void look_at_memory();
    void look_at_clock(const Cluster& cluster);  // ends the launch if its time is up, or at Ctrl-C
    void look_for_deadlock(Cluster& cluster);    // ends the launch if its warps wait for each other at mbarriers
    bool run_turn(Cluster& cluster);             // false: it is finished
    Block* make_block();
    void start_block(Block& block, uint64_t number);

    std::vector<std::unique_ptr<Block>> blocks_;
    std::vector<Block*> idle_blocks_;
    std::vector<std::unique_ptr<Cluster>> resident_, idle_clusters_;
    std::vector<Frame*> free_frames_;  // by function index
    std::vector<Frame*> all_frames_;
    std::shared_ptr<const Memory::View> seen_;  // of this device's own memory, what `view` was made of
    std::vector<std::shared_ptr<const Memory::View>> past_views_;  // asynchronous copies may still point into them
    std::mt19937_64 random_;
};

struct Fault {
    FaultKind kind = FaultKind::internal;
    std::string message;
    uint64_t address = 0;
    uint64_t block = ~0ull;  // the fault of the lowest block is reported, whatever ran first
};

class Printer;
class DeviceHeap;
class GridRuntime;

// One launch: what all its workers share.
class Launch {
  public:
    const Program* program = nullptr;
    const Function* kernel = nullptr;
    const LaunchConfig* config = nullptr;
    const MachineConfig* machine = nullptr;
    Memory* memory = nullptr;
    Observer* observer = nullptr;
    Printer* printer = nullptr;
    DeviceHeap* heap = nullptr;
    GridRuntime* runtime = nullptr;     // of a kernel that may launch kernels
    const std::byte* params = nullptr;  // also a device address, for cvta.param
    uint32_t param_bytes = 0;
    uint64_t grid_workspace = 0;  // device address for %envreg1/2; 0: not cooperative
    uint64_t serial = 0;          // %gridid
    uint32_t shared_begin = 0;    // where static shared memory begins
    uint32_t dynamic_base = 0;    // where dynamic shared memory begins
    uint32_t shared_bytes = 0;    // all, reserved included
    uint32_t local_stride = 0;
    uint64_t resident_limit = 1;  // blocks (or clusters) a worker may hold at once
    uint32_t cluster_blocks = 1;
    uint64_t cluster_count = 1;
    std::atomic<uint64_t> next_cluster{0};
    std::atomic<uint64_t> fault_block{~0ull};  // blocks from here on are cancelled
    std::atomic<bool> cancelled{false};
    std::chrono::steady_clock::time_point started, deadline;
    bool has_deadline = false;
    uint64_t interrupts = 0;  // when the host asked for the launch

    void report(Fault fault);
    Fault take_fault();
    uint64_t permuted(uint64_t turn) const;  // the block (cluster) to start in this turn
    std::array<uint32_t, 3> first_block(uint64_t cluster) const;
    // clusterlaunchcontrol: a cluster that has not started is not going to, if there is one; its first block.
    struct Taken {
        bool any = false;
        std::array<uint32_t, 3> block{};
    };
    Taken take_cluster();
    // The multiprocessor of a block that starts: its turn's, or the next one on which nothing runs; until it is left.
    uint32_t enter_sm(uint64_t number);
    void leave_sm(uint32_t sm) { on_sm[sm].fetch_sub(1, std::memory_order_release); }
    std::unique_ptr<std::atomic<uint32_t>[]> on_sm;  // how many blocks each multiprocessor runs

  private:
    std::mutex mutex_;
    Fault fault_;
};

// Thrown by Warp::fault; caught by the worker.
struct FaultError {
    Fault fault;
};

}  // namespace softcuda
