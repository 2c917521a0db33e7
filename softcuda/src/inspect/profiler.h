// Counts what kernels do, instruction by instruction, and writes one JSON object a launch.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "inspect/caches.h"
#include "inspect/pattern.h"
#include "inspect/record.h"
#include "inspect/requests.h"
#include "machine/observer.h"

namespace softcuda::inspect {

// Of one PTX instruction.
struct Count {
    uint64_t warps = 0, lanes = 0;        // executions, and the lanes that took part
    uint64_t branches = 0, diverged = 0;  // of a branch: executions, and those whose lanes parted
    // An instruction may touch two spaces (cp.async), each in one way.
    struct Traffic {
        Access access = Access::load;
        uint64_t requests = 0;
        uint64_t bytes = 0;                  // asked for by the lanes
        uint64_t sectors = 0;                // global memory
        uint64_t hits = 0;                   // of them, those that a load found in the modelled L1
        uint64_t wavefronts = 0, ideal = 0;  // shared memory
    } global, shared, local;

    void add(const Count& other);
};

class Profiler : public Observer {
  public:
    // Writes to a Record of that name.
    Profiler(const std::string& record, uint32_t l1_bytes, uint32_t warps_per_sm);
    void queued() override;
    void launch_begin(const Program& program, const Function& kernel, const LaunchConfig& config) override;
    void launch_end(const Program& program, const Function& kernel, const LaunchConfig& config,
                    const LaunchResult& result) override;
    void block_begin(const WarpPlace& place) override;
    void segment(const WarpPlace& place, const Op* first, const Op* end, uint32_t lanes) override;
    void idle(const WarpPlace& place, const Op& op, uint32_t lanes) override;
    void instruction(const WarpPlace& place, const Op& op, uint32_t lanes) override;
    void access(const WarpPlace& place, const Op& op, const RowAccess& access) override;
    void loads(const WarpPlace& place, const Loads& all, const RowAccess& row) override;
    void memory(const WarpPlace& place, const Op& op, const MemoryEvent& event) override;
    void bulk(const WarpPlace& place, const Op& op, const BulkEvent& event) override;
    void product(const WarpPlace& place, const ProductEvent& event) override;
    void branch(const WarpPlace& place, const Op& op, uint32_t lanes, uint32_t taken) override;
    void process_end() override;

  private:
    // What follows from a pattern of addresses, and how often the instruction met it since it last went into its Count.
    struct Known {
        Pattern pattern;
        uint32_t from = 0, to = 0;  // the rest holds as long as the low bits of the first address are in here
        uint32_t bytes = 0;         // asked for by the lanes
        uint64_t uses = 0, hits = 0;
        uint64_t uses_together = 0;  // the same by all the loads of Site::together
        SharedPasses passes;         // shared memory
        uint32_t sectors = 0, lines = 0;
        int64_t line[32];  // global memory: from the first address's
        uint8_t in_line[32];
    };
    struct Site : Patterns<Known> {
        Loads together{};  // that it is the first of
        Credit credit;
    };
    // Of a function, by instruction.
    struct Listing {
        explicit Listing(const Function& function);
        const Op* code;
        std::vector<Count> counts;  // in `warps` and `lanes`: more than of the instruction before
        std::vector<std::unique_ptr<Site>> sites;
        Known& met(const Op& op, const RowAccess& access, const BaseRow& base);
        void add_to_count(const Op& op, Known& known);
        void finish();
    };
    struct Worker {
        const Function* function = nullptr;
        Listing* listing = nullptr;  // of `function`
        std::unordered_map<const Function*, std::unique_ptr<Listing>> all;
        L1Cache l1;
        GranuleSet loaded;  // or updated by atomic operations: what has to come from memory
        Listing& in(const Function& entered);
    };
    // Kernels that launch others go on when those have ended.
    struct Launch {
        uint32_t l1_bytes;
        std::vector<std::unique_ptr<Worker>> workers;
    };
    static constexpr size_t most_workers = 1024;  // what SOFTCUDA_THREADS allows
    Worker& worker(const WarpPlace& place) { return *launches_.back().workers[place.worker]; }
    static void learn(const Op& op, const RowAccess& access, Known& known, bool keep);
    void write(const Program& program, const Op& op, const Count& count);
    void write_sources(const Program& program);

    const uint32_t l1_bytes_, warps_per_sm_;
    std::mutex mutex_;  // out_
    Record out_;
    std::vector<Launch> launches_;  // the last one runs
    std::set<uint64_t> written_;    // programs whose sources are written, by function_base
};

}  // namespace softcuda::inspect
