// Counts what kernels do, instruction by instruction, and writes one JSON object a launch.
#pragma once

#include <fstream>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "inspect/caches.h"
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
    // Writes to the file at `path`: one JSON object a line.
    Profiler(const std::string& path, uint32_t l1_bytes, uint32_t warps_per_sm);
    void launch_begin(const Program& program, const Function& kernel, const LaunchConfig& config) override;
    void launch_end(const Program& program, const Function& kernel, const LaunchConfig& config,
                    const LaunchResult& result) override;
    void block_begin(const WarpPlace& place) override;
    void instruction(const WarpPlace& place, const Function& function, const Op& op, uint32_t lanes) override;
    void memory(const WarpPlace& place, const Op& op, const MemoryEvent& event) override;
    void branch(const WarpPlace& place, const Op& op, uint32_t lanes, uint32_t taken) override;

  private:
    struct Worker {
        const Function* function = nullptr;
        Count* counts = nullptr;  // of `function`, by instruction
        Count* current = nullptr;
        std::unordered_map<const Function*, std::vector<Count>> all;
        L1Cache l1;
        GranuleSet loaded;  // or updated by atomic operations: what has to come from memory
        void enter(const Function& function);
    };
    static constexpr size_t most_workers = 1024;  // what SOFTCUDA_THREADS allows
    Worker& worker(const WarpPlace& place) { return workers_[place.worker]; }
    void write(const Program& program, const Op& op, const Count& count);
    void write_sources(const Program& program);

    const uint32_t l1_bytes_, warps_per_sm_;
    std::ofstream out_;
    std::vector<Worker> workers_ = std::vector<Worker>(most_workers);
    std::set<uint64_t> told_;  // programs whose sources are written, by function_base
};

}  // namespace softcuda::inspect
