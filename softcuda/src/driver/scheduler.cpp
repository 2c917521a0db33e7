#include "driver/scheduler.h"

#include <algorithm>
#include <system_error>
#include <thread>

#include "driver/driver.h"
#include "driver/interrupt.h"
#include "machine/interrupts.h"

namespace softcuda::driver {

namespace {
constexpr int queue_limit = 1024;  // as deep as a GPU's launch queue: a launch beyond it waits
thread_local bool on_host_engine = false;
}  // namespace

bool in_host_function() { return on_host_engine; }

Scheduler& Scheduler::get() {
    static Scheduler* scheduler = new Scheduler;  // never destroyed: engines may run until the process is gone
    return *scheduler;
}

// Signals are looked for while a wait takes long.  `condition` is asked with the lock held.
template <class Condition>
void Scheduler::wait_until(std::unique_lock<std::mutex>& lock, Condition condition) {
    while (!changed_.wait_for(lock, signal_period, condition)) {
        lock.unlock();
        look_for_signals();
        lock.lock();
    }
}

// With the lock held.
void Scheduler::start_engine(int device, Engine engine) {
    Queue& queue = queue_of(device, engine);
    if (queue.started) return;
    try {
        if (engine == Engine::wait)
            std::thread(&Scheduler::watch_loop, this, device).detach();
        else
            std::thread(&Scheduler::engine_loop, this, device, engine).detach();
    } catch (const std::system_error& error) {
        fail(CUDA_ERROR_OPERATING_SYSTEM, "cannot start a thread for the device's work: " + error.code().message());
    }
    queue.started = true;
}

TaskRef Scheduler::submit(const std::shared_ptr<Context>& context, Stream& stream, Engine engine,
                          std::function<void()> work, const std::vector<TaskRef>& after, std::function<bool()> until) {
    auto task = std::make_shared<Task>();
    task->engine = engine;
    task->context = context;
    task->device = context->gpu->ordinal;
    task->priority = stream.priority;
    task->work = std::move(work);
    task->until = std::move(until);

    task->interrupts = interrupts;

    std::unique_lock lock(mutex_);
    if (engine < Engine::caller) start_engine(task->device, engine);
    wait_until(lock, [&] { return queued_ < queue_limit || engine == Engine::caller; });
    task->serial = ++serial_;
    ++queued_;
    auto follow = [&](const TaskRef& before) {
        if (!before || before->done) return;
        before->followers.push_back(task);
        ++task->waits;
    };
    follow(stream.last);
    if (stream.legacy) {
        std::erase_if(context->streams, [](auto& s) { return s->destroyed && (!s->last || s->last->done); });
        for (auto& other : context->streams)
            if (other->blocking && other.get() != &stream) follow(other->last);
    } else if (stream.blocking) {
        follow(context->legacy->last);
    }
    for (auto& before : after) follow(before);
    stream.last = task;
    if (task->waits == 0) make_ready({task});
    return task;
}

// With the lock held.
void Scheduler::make_ready(std::vector<TaskRef> tasks) {
    while (!tasks.empty()) {
        TaskRef task = std::move(tasks.back());
        tasks.pop_back();
        task->ready = true;
        if (task->engine == Engine::none) {
            task->done = true;
            task->finished = Task::Clock::now();
            task->context.reset();
            --queued_;
            for (auto& follower : task->followers)
                if (--follower->waits == 0) tasks.push_back(follower);
            task->followers.clear();
        } else if (task->engine != Engine::caller) {
            Queue& queue = queue_of(task->device, task->engine);
            queue.ready.emplace(Key(task->priority, task->serial), task);
            queue.work.notify_one();
        }
    }
    changed_.notify_all();
}

// With the lock held.
void Scheduler::finish(const TaskRef& task) {
    task->done = true;
    task->finished = Task::Clock::now();
    --queued_;
    std::vector<TaskRef> freed;
    for (auto& follower : task->followers)
        if (--follower->waits == 0) freed.push_back(follower);
    task->followers.clear();
    make_ready(std::move(freed));
}

// With the lock held, but not while it works.
void Scheduler::perform(const TaskRef& task, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    if (task->work && !task->context->failed()) task->work();
    task->work = nullptr;  // what it kept alive is freed before anybody is notified
    task->until = nullptr;
    std::shared_ptr<Context> context = std::move(task->context);
    lock.lock();
    finish(task);
}

void Scheduler::engine_loop(int device, Engine engine) {
    OnDevice scope(driver::device(device));
    on_host_engine = engine == Engine::host;
    Queue& queue = queue_of(device, engine);
    std::unique_lock lock(mutex_);
    for (;;) {
        queue.work.wait(lock, [&] { return !queue.ready.empty(); });
        TaskRef task = queue.ready.begin()->second;
        queue.ready.erase(queue.ready.begin());
        perform(task, lock);
    }
}

// Streams that wait for a value in memory hold up nobody but themselves.
void Scheduler::watch_loop(int device) {
    OnDevice scope(driver::device(device));
    Queue& queue = queue_of(device, Engine::wait);
    std::unique_lock lock(mutex_);
    for (;;) {
        queue.work.wait(lock, [&] { return !queue.ready.empty(); });
        auto met = std::find_if(queue.ready.begin(), queue.ready.end(), [](auto& entry) {
            Context& context = *entry.second->context;
            const bool interrupted = entry.second->interrupts != interrupts;
            if (interrupted) ++context.cut_launches;
            return interrupted || context.failed() || !context.alive || entry.second->until();
        });
        if (met == queue.ready.end()) {
            queue.work.wait_for(lock, std::chrono::microseconds(200));
            continue;
        }
        TaskRef task = met->second;
        queue.ready.erase(met);
        perform(task, lock);
    }
}

void Scheduler::run(const std::shared_ptr<Context>& context, Stream& stream, std::function<void()> work) {
    TaskRef task = submit(context, stream, Engine::caller, std::move(work));
    std::unique_lock lock(mutex_);
    wait_until(lock, [&] { return task->ready; });
    lock.unlock();
    if (!context->failed()) task->work();
    task->work = nullptr;
    task->context.reset();
    lock.lock();
    finish(task);
}

void Scheduler::wait(const TaskRef& task) {
    if (!task) return;
    std::unique_lock lock(mutex_);
    wait_until(lock, [&] { return task->done; });
}

bool Scheduler::done(const TaskRef& task) {
    std::lock_guard lock(mutex_);
    return !task || task->done;
}

TaskRef Scheduler::last(Stream& stream) {
    std::lock_guard lock(mutex_);
    return stream.last;
}

// With the lock held.
std::vector<TaskRef> Scheduler::pending(Context& context) {
    std::vector<TaskRef> tasks;
    for (auto& stream : context.streams)
        if (stream->last && !stream->last->done) tasks.push_back(stream->last);
    return tasks;
}

void Scheduler::drain(Context& context) {
    std::unique_lock lock(mutex_);
    for (auto& task : pending(context)) wait_until(lock, [&] { return task->done; });
}

bool Scheduler::attribute(const Stream& stream, int which, CUlaunchAttributeValue& value) {
    std::lock_guard lock(mutex_);
    auto it = stream.attributes.find(which);
    if (it == stream.attributes.end()) return false;
    value = it->second;
    return true;
}

void Scheduler::set_attribute(Stream& stream, int which, const CUlaunchAttributeValue& value) {
    std::lock_guard lock(mutex_);
    stream.attributes[which] = value;
    if (which == CU_LAUNCH_ATTRIBUTE_PRIORITY) stream.priority = std::clamp(value.priority, -5, 0);
}

void Scheduler::copy_attributes(const Stream& from, Stream& to) {
    std::lock_guard lock(mutex_);
    for (auto& [which, value] : from.attributes) to.attributes[which] = value;
    to.priority = from.priority;
}

void Scheduler::adopt(Context& context, const std::shared_ptr<Stream>& stream) {
    std::lock_guard lock(mutex_);
    context.streams.push_back(stream);
}

}  // namespace softcuda::driver
