// Writes down what one block of one launch does, step by step: a step is a PTX instruction of a warp.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "inspect/record.h"
#include "machine/observer.h"
#include "machine/operands.h"

namespace softcuda::inspect {

struct WantedTrace {
    std::string kernel;   // as in PTX, or the C++ name
    uint64_t launch = 1;  // of that kernel, from 1
    uint64_t steps = 0;   // no more than these
    uint32_t block[3] = {0, 0, 0};
};
// From SOFTCUDA_TRACE: "LAUNCH STEPS X Y Z KERNEL", as `softcuda trace` writes it.
WantedTrace wanted_trace();

// One JSON object a line: {"launch"…} of every launch; of the one wanted {"trace"…}, {"memory"…}, {"operation"…} before
// the first step that has it, {"step"…}, {"barrier"…}, and {"traced"…} when it has ended; {"end"} of the process.
class Tracer : public Observer {
  public:
    Tracer(const std::string& record, WantedTrace wanted);
    void launch_begin(const Program& program, const Function& kernel, const LaunchConfig& config) override;
    void launch_end(const Program& program, const Function& kernel, const LaunchConfig& config,
                    const LaunchResult& result) override;
    void block_end(const WarpPlace& place) override;
    void step(const WarpPlace& place, const Op& op, uint32_t lanes, const std::byte* frame) override;
    void memory(const WarpPlace& place, const Op& op, const MemoryEvent& event) override;
    void bulk(const WarpPlace& place, const Op& op, const BulkEvent& event) override;
    void branch(const WarpPlace& place, const Op& op, uint32_t lanes, uint32_t taken) override;
    void barrier_done(const WarpPlace& place, uint32_t id, uint32_t threads) override;
    void meet(const WarpPlace& place, const Op& op, uint32_t lanes, uint32_t gone, const std::byte* frame) override;
    void exited(const WarpPlace& place, uint32_t lanes) override;
    bool one_worker() const override { return true; }  // so that every run gives the same trace
    bool follows_steps() const override { return true; }
    bool reads_values() const override { return true; }
    void sees(const std::shared_ptr<const Memory::View>& view) override { view_ = view; }
    void process_end() override;

  private:
    struct Step {
        uint32_t warp, lanes;
        const Op* last;          // of the Ops that the instruction became, the one that ran last
        const std::byte* frame;  // whose rows hold its results
        std::string text;        // what is known so far
        bool open = true;        // its results are to come …
        bool waits = false;      // … once other lanes have come, too
    };
    bool here(const WarpPlace& place) const;
    Step* current(const WarpPlace& place);
    void close(uint32_t warp);
    void close(Step& step, bool ran);
    void flush();
    void write_operation(const Function& function, const Op& op);
    void write_memories(const Function& kernel, const LaunchConfig& config);
    std::string values(const std::vector<Value>& values, const std::byte* frame, uint32_t lanes) const;

    const WantedTrace wanted_;
    Record out_;
    uint64_t launches_ = 0;             // of the kernel wanted
    std::vector<bool> running_;         // launches under way, a kernel's own within it: whether it is the one
    const Program* program_ = nullptr;  // of the launch that is traced
    std::shared_ptr<const Memory::View> view_;
    std::set<uint32_t> written_;  // operations, by line
    std::deque<Step> steps_;      // from the first that is open on
    uint64_t count_ = 0;
};

}  // namespace softcuda::inspect
