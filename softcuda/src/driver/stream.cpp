// Streams, events and host functions.
#include <algorithm>

#include "driver/driver.h"
#include "driver/entry_points.h"
#include "driver/interrupt.h"
#include "driver/pool.h"

namespace softcuda::driver {

struct Event : Object {
    unsigned flags = 0;
    std::mutex mutex;
    TaskRef record;  // null: never recorded
};

namespace {

TaskRef recorded(Event& event) {
    std::lock_guard lock(event.mutex);
    return event.record;
}

// Streams of a thread that asked for CU_STREAM_PER_THREAD, by context.
thread_local std::map<uint64_t, std::shared_ptr<Stream>> per_thread;

void check_stream_flags(unsigned flags) { require((flags & ~unsigned(CU_STREAM_NON_BLOCKING)) == 0); }

void wait_stream(const std::shared_ptr<Context>& context, Stream& stream) {
    const WaitForWork wait(*context);
    Scheduler& scheduler = Scheduler::get();
    // A marker in the legacy stream comes after every blocking stream's work.
    scheduler.wait(stream.legacy ? scheduler.submit(context, stream, Engine::none, {}) : scheduler.last(stream));
    context->gpu->machine.flush_printf();
    trim_pools(false);
    wait.end();
}

}  // namespace

void record_event(const std::shared_ptr<Context>& context, CUevent handle, const TaskRef& task) {
    auto event = find<Event>(handle);
    require(event->context == context->serial, CUDA_ERROR_INVALID_HANDLE);
    std::lock_guard lock(event->mutex);
    event->record = task;
}

std::shared_ptr<Stream> add_stream(const std::shared_ptr<Context>& context, unsigned flags, int priority) {
    auto stream = std::make_shared<Stream>();
    stream->context = context->serial;
    stream->flags = flags;
    stream->priority = priority;
    stream->blocking = !(flags & CU_STREAM_NON_BLOCKING);
    Scheduler::get().adopt(*context, stream);
    return stream;
}

std::shared_ptr<Stream> stream_of(std::shared_ptr<Context>& context, CUstream handle) {
    if (!handle && PerThreadDefault::active()) handle = CU_STREAM_PER_THREAD;
    if (!handle || handle == CU_STREAM_LEGACY) return context->legacy;
    if (handle == CU_STREAM_PER_THREAD) {
        auto& stream = per_thread[context->serial];
        if (!stream) stream = add_stream(context, 0, 0);
        return stream;
    }
    auto stream = handles().find<Stream>(handle);
    require(stream != nullptr, CUDA_ERROR_INVALID_HANDLE);
    if (stream->context != context->serial) {
        context = context_of(stream->context);
        require(context != nullptr, CUDA_ERROR_INVALID_HANDLE);
        if (context->failed()) fail(context->error());
    }
    return stream;
}

}  // namespace softcuda::driver

using namespace softcuda::driver;

CUresult cuStreamCreateWithPriority(CUstream* handle, unsigned flags, int priority) {
    return in_context([&](auto& context) {
        require(handle);
        check_stream_flags(flags);
        *handle = handles().add<CUstream>(add_stream(context, flags, std::clamp(priority, -5, 0)));
    });
}

CUresult cuStreamCreate(CUstream* handle, unsigned flags) { return cuStreamCreateWithPriority(handle, flags, 0); }

CUresult cuStreamDestroy_v2(CUstream handle) {
    return in_context([&](auto&) {
        auto stream = find<Stream>(handle);
        handles().remove(handle);  // its work goes on
        stream->destroyed = true;
    });
}

CUresult cuStreamSynchronize(CUstream handle) {
    return in_context([&](auto& context) {
        auto stream = stream_of(context, handle);
        wait_stream(context, *stream);
    });
}

CUresult cuStreamQuery(CUstream handle) {
    return in_context([&](auto& context) {
        auto stream = stream_of(context, handle);
        Scheduler& scheduler = Scheduler::get();
        TaskRef last = stream->legacy ? scheduler.submit(context, *stream, Engine::none, {}) : scheduler.last(*stream);
        require(scheduler.done(last), CUDA_ERROR_NOT_READY);
        if (context->failed()) fail(context->error());
    });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
    return in_context([&](auto& context) {
        require(flags);
        *flags = stream_of(context, handle)->flags;
    });
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
    return in_context([&](auto& context) {
        require(priority);
        *priority = stream_of(context, handle)->priority;
    });
}

// Attributes that a kernel launched into the stream has unless it says otherwise.
static void check_stream_attribute(CUstreamAttrID which) {
    require(which == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW || which == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
            which == CU_LAUNCH_ATTRIBUTE_PRIORITY || which == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP ||
            which == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN ||
            which == CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING);
}

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID which, const CUstreamAttrValue* value) {
    return in_context([&](auto& context) {
        require(value);
        check_stream_attribute(which);
        Scheduler::get().set_attribute(*stream_of(context, handle), which, *value);
    });
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID which, CUstreamAttrValue* value) {
    return in_context([&](auto& context) {
        require(value);
        check_stream_attribute(which);
        auto stream = stream_of(context, handle);
        *value = {};
        if (which == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) value->syncPolicy = CU_SYNC_POLICY_AUTO;
        if (which == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) value->memSyncDomainMap = {0, 1};
        if (!Scheduler::get().attribute(*stream, which, *value) && which == CU_LAUNCH_ATTRIBUTE_PRIORITY)
            value->priority = stream->priority;
    });
}

CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
    return in_context([&](auto& context) {
        auto other = context;
        Scheduler::get().copy_attributes(*stream_of(context, from), *stream_of(other, to));
    });
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* out, CUgreenCtx* green) {
    if (green) *green = nullptr;  // there are none
    return cuStreamGetCtx(handle, out);
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
    return in_context([&](auto& context) {
        require(id);
        auto stream = stream_of(context, handle);
        *id = stream->handle ? stream->handle : reinterpret_cast<uintptr_t>(stream.get());
    });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* out) {
    return in_context([&](auto& context) {
        require(out);
        stream_of(context, handle);
        *out = reinterpret_cast<CUcontext>(context->handle);
    });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* ordinal) {
    return in_context([&](auto& context) {
        require(ordinal);
        stream_of(context, handle);
        *ordinal = context->gpu->ordinal;
    });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
    return in_context([&](auto& context) {
        require(status);
        stream_of(context, handle);
        *status = CU_STREAM_CAPTURE_STATUS_NONE;
    });
}

CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t, unsigned flags) {
    return in_context([&](auto& context) {
        require(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST || flags == CU_MEM_ATTACH_SINGLE);
        Located allocation = locate(address);
        require(allocation && allocation->kind == softcuda::MemoryKind::managed);
        auto stream = stream_of(context, handle);
        require(flags != CU_MEM_ATTACH_SINGLE || !stream->legacy);
        Scheduler::get().submit(context, *stream, Engine::none, {});  // one memory: nothing moves
    });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags) {
    return in_context([&](auto& context) {
        require((flags & ~unsigned(CU_EVENT_WAIT_EXTERNAL)) == 0);
        auto stream = stream_of(context, handle);
        if (TaskRef record = recorded(*find<Event>(event_handle)))
            Scheduler::get().submit(context, *stream, Engine::none, {}, {record});
    });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
    return in_context([&](auto& context) {
        require(function);
        auto stream = stream_of(context, handle);
        Scheduler::get().submit(context, *stream, Engine::host, [function, data] { function(data); });
    });
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* data, unsigned flags) {
    return in_context([&](auto& context) {
        require(callback && flags == 0);
        auto stream = stream_of(context, handle);
        Scheduler::get().submit(context, *stream, Engine::host, [=] { callback(handle, CUDA_SUCCESS, data); });
    });
}

// --- events

CUresult cuEventCreate(CUevent* handle, unsigned flags) {
    return in_context([&](auto& context) {
        require(handle);
        require((flags & ~unsigned(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)) == 0);
        require(!(flags & CU_EVENT_INTERPROCESS) || (flags & CU_EVENT_DISABLE_TIMING));
        auto event = std::make_shared<Event>();
        event->context = context->serial;
        event->flags = flags;
        *handle = handles().add<CUevent>(event);
    });
}

CUresult cuEventDestroy_v2(CUevent handle) {
    return in_context([&](auto&) {
        find<Event>(handle);
        handles().remove(handle);
    });
}

CUresult cuEventRecord(CUevent handle, CUstream stream_handle) {
    return in_context([&](auto& context) {
        auto event = find<Event>(handle);
        auto stream = stream_of(context, stream_handle);
        require(event->context == context->serial, CUDA_ERROR_INVALID_HANDLE);
        record_event(context, handle, Scheduler::get().submit(context, *stream, Engine::none, {}));
    });
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned flags) {
    return (flags & ~unsigned(CU_EVENT_RECORD_EXTERNAL)) ? CUDA_ERROR_INVALID_VALUE : cuEventRecord(handle, stream);
}

CUresult cuEventQuery(CUevent handle) {
    return in_context([&](auto& context) {
        require(Scheduler::get().done(recorded(*find<Event>(handle))), CUDA_ERROR_NOT_READY);
        if (context->failed()) fail(context->error());
    });
}

CUresult cuEventSynchronize(CUevent handle) {
    return in_context([&](auto& context) {
        const WaitForWork wait(*context);
        Scheduler::get().wait(recorded(*find<Event>(handle)));
        device().machine.flush_printf();
        wait.end();
    });
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
    return in_context([&](auto&) {
        require(milliseconds);
        auto first = find<Event>(start), second = find<Event>(end);
        require(!((first->flags | second->flags) & CU_EVENT_DISABLE_TIMING), CUDA_ERROR_INVALID_HANDLE);
        TaskRef from = recorded(*first), to = recorded(*second);
        require(from && to, CUDA_ERROR_INVALID_HANDLE);
        Scheduler& scheduler = Scheduler::get();
        require(scheduler.done(from) && scheduler.done(to), CUDA_ERROR_NOT_READY);
        *milliseconds = std::chrono::duration<float, std::milli>(to->finished - from->finished).count();
    });
}
