// Asynchronous work: tasks in streams, run by each device's engines (kernels, copies, host functions) as on hardware.
//
// A task waits for the tasks it has to follow: the one before it in its stream, the legacy default stream's last one
// (and, in that stream, the last of every blocking stream), recorded events.  Each engine is one thread and takes the
// ready task that was issued first, so the order is reproducible wherever CUDA leaves it open within an engine; a stream of higher priority goes first.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/api.h"
#include "driver/handles.h"

namespace softcuda::driver {

// wait: until memory holds a value; caller: the thread that submits it; none: a marker, done as soon as it is ready
enum class Engine : uint8_t { compute, copy, host, wait, caller, none };

constexpr int device_limit = 16;
struct Context;

struct Task {
    using Clock = std::chrono::steady_clock;
    uint64_t serial = 0;
    Engine engine = Engine::none;
    int device = 0, priority = 0;
    std::shared_ptr<Context> context;  // until done
    std::function<void()> work;        // must not throw; skipped once the context has failed
    std::function<bool()> until;       // Engine::wait: done once this holds, or at an interrupt; `work` follows
    uint64_t interrupts = 0;           // their number when it was submitted
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
    std::map<int, CUlaunchAttributeValue> attributes;  // guarded by the scheduler
    std::atomic<bool> destroyed{false};
    TaskRef last;  // guarded by the scheduler
};

class Scheduler {
  public:
    static Scheduler& get();  // lives until the process ends
    // CUDA_ERROR_OPERATING_SYSTEM if the system gives no thread for the engine; then nothing is submitted.
    TaskRef submit(const std::shared_ptr<Context>& context, Stream& stream, Engine engine, std::function<void()> work,
                   const std::vector<TaskRef>& after = {}, std::function<bool()> until = {});
    // Runs `work` in this thread when its turn in the stream has come.
    void run(const std::shared_ptr<Context>& context, Stream& stream, std::function<void()> work);
    void wait(const TaskRef& task);
    bool done(const TaskRef& task);  // null counts as done
    TaskRef last(Stream& stream);
    void drain(Context& context);  // waits for what was submitted so far
    // What cuStreamSetAttribute has set.
    bool attribute(const Stream& stream, int which, CUlaunchAttributeValue& value);
    void set_attribute(Stream& stream, int which, const CUlaunchAttributeValue& value);
    void copy_attributes(const Stream& from, Stream& to);
    void adopt(Context& context, const std::shared_ptr<Stream>& stream);

  private:
    using Key = std::pair<int, uint64_t>;  // priority (the smaller the sooner) and serial
    struct Queue {
        std::condition_variable work;
        std::map<Key, TaskRef> ready;
        bool started = false;
    };
    static constexpr int engines = int(Engine::caller);

    void start_engine(int device, Engine engine);
    template <class Condition>
    void wait_until(std::unique_lock<std::mutex>& lock, Condition condition);
    Queue& queue_of(int device, Engine engine) { return queues_[size_t(device * engines + int(engine))]; }
    void engine_loop(int device, Engine engine);
    void watch_loop(int device);
    void perform(const TaskRef& task, std::unique_lock<std::mutex>& lock);
    void make_ready(std::vector<TaskRef> tasks);
    void finish(const TaskRef& task);
    std::vector<TaskRef> pending(Context& context);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::array<Queue, size_t(device_limit* engines)> queues_;
    uint64_t serial_ = 0;
    int queued_ = 0;
};

bool in_host_function();  // CUDA calls from host functions are not permitted

}  // namespace softcuda::driver
