// Asynchronous work: tasks in streams, run by three engines (kernels, copies, host functions) as on hardware.
//
// A task waits for the tasks it was told to follow: the one before it in its stream, the legacy default stream's last one
// (and, in that stream, the last of every blocking stream), recorded events.  Each engine is one thread and takes the
// ready task that was issued first, so the order is reproducible wherever CUDA leaves it open within an engine.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/handles.h"

namespace softcuda::driver {

enum class Engine : uint8_t { compute, copy, host, caller, none };  // none: a marker, done as soon as it is ready

struct Context;

struct Task {
    using Clock = std::chrono::steady_clock;
    uint64_t serial = 0;
    Engine engine = Engine::none;
    std::shared_ptr<Context> context;  // until done
    std::function<void()> work;        // must not throw; skipped once the context has failed
    int waits = 0;
    bool ready = false, done = false;
    Clock::time_point finished;
    std::vector<std::shared_ptr<Task>> followers;
};
using TaskRef = std::shared_ptr<Task>;

struct Stream : Object {
    unsigned flags = 0;
    int priority = 0;
    bool legacy = false, blocking = true;
    std::atomic<bool> destroyed{false};
    TaskRef last;  // guarded by the scheduler
};

class Scheduler {
  public:
    static Scheduler& get();  // lives until the process ends
    TaskRef submit(const std::shared_ptr<Context>& context, Stream& stream, Engine engine, std::function<void()> work,
                   const std::vector<TaskRef>& after = {});
    // Runs `work` in this thread when its turn in the stream has come.
    void run(const std::shared_ptr<Context>& context, Stream& stream, std::function<void()> work);
    void wait(const TaskRef& task);
    bool done(const TaskRef& task);  // null counts as done
    TaskRef last(Stream& stream);
    void drain(Context& context);  // waits for what was submitted so far
    void adopt(Context& context, const std::shared_ptr<Stream>& stream);

  private:
    void engine_loop(Engine engine);
    void make_ready(std::vector<TaskRef> tasks);
    void finish(const TaskRef& task);
    std::vector<TaskRef> pending(Context& context);

    std::mutex mutex_;
    std::condition_variable changed_, work_[3];
    std::map<uint64_t, TaskRef> ready_[3];
    bool started_[3] = {};
    uint64_t serial_ = 0;
    int queued_ = 0;
};

bool in_host_function();  // CUDA calls from host functions are not permitted

}  // namespace softcuda::driver
