// Contexts: what is current in a thread, the primary context, limits, and how a context ends.
#include <algorithm>
#include <utility>

#include "driver/driver.h"
#include "driver/interrupt.h"
#include "driver/module.h"
#include "driver/pool.h"
#include "machine/observer.h"

namespace softcuda::driver {

namespace {

thread_local std::vector<std::shared_ptr<Context>> stack;

void push(const std::shared_ptr<Context>& context) { stack.push_back(context); }

CUcontext handle_of(const std::shared_ptr<Context>& context) {
    return context ? reinterpret_cast<CUcontext>(context->handle) : nullptr;
}

std::map<CUlimit, size_t> default_limits(const MachineConfig& config) {
    return {{CU_LIMIT_STACK_SIZE, 1024},
            {CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20},
            {CU_LIMIT_MALLOC_HEAP_SIZE, size_t(config.device_heap_bytes)},
            {CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2},
            {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048},
            {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64},
            {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0}};
}

void create(CUcontext* out, unsigned flags, CUdevice ordinal) {
    require(out);
    Device& gpu = device(ordinal);
    require((flags & ~unsigned(CU_CTX_FLAGS_MASK)) == 0);
    auto context = make_context(gpu, flags, false);
    push(context);
    *out = handle_of(context);
}

}  // namespace

void Context::set_error(CUresult code, const std::string& message) {
    int none = CUDA_SUCCESS;
    if (error_.compare_exchange_strong(none, code)) say(message);
}

std::shared_ptr<Context> make_context(Device& gpu, unsigned flags, bool primary) {
    static std::atomic<uint64_t> serials{0};
    auto context = std::make_shared<Context>();
    context->serial = ++serials;
    context->gpu = &gpu;
    context->primary = primary;
    context->flags = flags;
    context->limits = default_limits(gpu.machine.config());
    context->legacy = std::make_shared<Stream>();
    context->legacy->legacy = true;
    context->streams.push_back(context->legacy);
    handles().add<CUcontext>(context);
    return context;
}

void destroy_context(const std::shared_ptr<Context>& context) {
    if (!context->alive.exchange(false)) return;
    Device& gpu = *context->gpu;
    OnDevice scope(gpu);
    Scheduler::get().drain(*context);
    gpu.machine.flush_printf();
    for (auto& module : handles().of_context<Module>(context->serial)) module->unload();
    for (auto& object : handles().of_context<Object>(context->serial))
        handles().remove(reinterpret_cast<void*>(object->handle));
    auto view = gpu.memory.view();
    for (const Allocation& allocation : *view)
        if (allocation.context == context->serial) {
            if (gpu.machine.observer()) gpu.machine.observer()->leaked(allocation);
            gpu.memory.release(allocation.base);
        }
    for (void* host : context->registered) gpu.memory.release(reinterpret_cast<uint64_t>(host));
    handles().remove(reinterpret_cast<void*>(context->handle));
    forget_peer(context->serial);
    std::erase(stack, context);  // other threads find out when they next use it
}

std::shared_ptr<Context> current_context() {
    require(!stack.empty() && stack.back(), CUDA_ERROR_INVALID_CONTEXT);
    require(stack.back()->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return stack.back();
}

void synchronize(const std::shared_ptr<Context>& context) {
    const WaitForWork wait(*context);
    Scheduler::get().drain(*context);
    context->gpu->machine.flush_printf();
    trim_pools(false);
    wait.end();
}

Device* device_of_current_context() { return stack.empty() || !stack.back() ? nullptr : stack.back()->gpu; }

std::shared_ptr<Context> find_context(CUcontext handle) {
    auto context = handles().find<Context>(handle);
    require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    return context;
}

std::shared_ptr<Context> context_or_current(CUcontext handle) {
    return handle ? find_context(handle) : current_context();
}

std::shared_ptr<Context> context_of(uint64_t serial) {
    for (auto& context : handles().of_context<Context>(0))  // contexts belong to none
        if (context->serial == serial) return context;
    return nullptr;
}

}  // namespace softcuda::driver

using namespace softcuda::driver;
namespace driver = softcuda::driver;

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned flags, CUdevice ordinal) {
    return with_device([&](Device&) {
        if (parameters && (parameters->execAffinityParams || parameters->cigParams))
            fail(CUDA_ERROR_NOT_SUPPORTED, "cuCtxCreate: execution affinity and graphics contexts are not supported");
        create(context, flags, ordinal);
    });
}

extern "C" __attribute__((visibility("default"))) CUresult cuCtxCreate_v3(CUcontext* context,
                                                                          CUexecAffinityParam* affinity, int count,
                                                                          unsigned flags, CUdevice ordinal) {
    return with_device([&](Device&) {
        require(!affinity && count == 0, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
        create(context, flags, ordinal);
    });
}

extern "C" __attribute__((visibility("default"))) CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags,
                                                                          CUdevice ordinal) {
    return with_device([&](Device&) { create(context, flags, ordinal); });
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
    return with_device([&](Device&) {
        auto context = find_context(handle);
        require(!context->primary, CUDA_ERROR_INVALID_CONTEXT);
        destroy_context(context);
    });
}

CUresult cuCtxAttach(CUcontext* handle, unsigned flags) {
    return in_context([&](auto& context) {
        require(handle && flags == 0);
        ++context->uses;
        *handle = handle_of(context);
    });
}

CUresult cuCtxDetach(CUcontext handle) {
    return with_device([&](Device&) {
        auto context = find_context(handle);
        require(context == current_context(), CUDA_ERROR_INVALID_CONTEXT);
        if (!context->primary && --context->uses == 0) destroy_context(context);
    });
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
    return with_device([&](Device&) { push(find_context(handle)); });
}

CUresult cuCtxPopCurrent_v2(CUcontext* handle) {
    return with_device([&](Device&) {
        require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT);
        if (handle) *handle = handle_of(stack.back());
        stack.pop_back();
    });
}

CUresult cuCtxSetCurrent(CUcontext handle) {
    return with_device([&](Device&) {
        auto context = handle ? find_context(handle) : nullptr;
        if (!stack.empty()) stack.pop_back();
        if (context) push(context);
    });
}

CUresult cuCtxGetCurrent(CUcontext* handle) {
    return with_device([&](Device&) {
        require(handle);
        *handle = stack.empty() ? nullptr : handle_of(stack.back());
    });
}

CUresult cuCtxGetDevice(CUdevice* ordinal) {
    return with_device([&](Device&) {
        require(ordinal);
        *ordinal = current_context()->gpu->ordinal;
    });
}

CUresult cuCtxGetDevice_v2(CUdevice* ordinal, CUcontext handle) {
    return with_device([&](Device&) {
        require(ordinal);
        *ordinal = context_or_current(handle)->gpu->ordinal;
    });
}

CUresult cuCtxGetFlags(unsigned* flags) {
    return with_device([&](Device&) {
        require(flags);
        *flags = current_context()->flags;
    });
}

CUresult cuCtxSetFlags(unsigned flags) {
    return with_device([&](Device&) {
        require((flags & ~unsigned(CU_CTX_FLAGS_MASK)) == 0);
        current_context()->flags = flags;
    });
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
    return with_device([&](Device&) {
        require(id);
        *id = context_or_current(handle)->serial;
    });
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
    return with_device([&](Device&) {
        require(version);
        context_or_current(handle);
        *version = 3020;  // the numbering that every driver since 4.0 answers with
    });
}

CUresult cuCtxSynchronize() {
    return in_context([](auto& context) { synchronize(context); });
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
    return with_device([&](Device&) { synchronize(context_or_current(handle)); });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
    return in_context([&](auto& context) {
        require(value);
        std::lock_guard lock(context->mutex);
        auto it = context->limits.find(limit);
        require(it != context->limits.end(), CUDA_ERROR_UNSUPPORTED_LIMIT);
        *value = it->second;
    });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    return in_context([&](auto& context) {
        std::unique_lock lock(context->mutex);
        auto it = context->limits.find(limit);
        require(it != context->limits.end(), CUDA_ERROR_UNSUPPORTED_LIMIT);
        if (limit == CU_LIMIT_STACK_SIZE) {
            require(value <= 512 << 10);
            value = (value + 15) & ~size_t(15);
        }
        if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY) require(value <= 128);
        it->second = value;
        lock.unlock();
        const bool pending = limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT;
        if (limit != CU_LIMIT_STACK_SIZE && limit != CU_LIMIT_MALLOC_HEAP_SIZE && !pending) return;
        synchronize(context);
        softcuda::Machine& machine = context->gpu->machine;
        softcuda::MachineConfig config = machine.config();
        // The machine's frames are larger than a GPU's, so a small limit is never taken literally.
        if (limit == CU_LIMIT_STACK_SIZE)
            config.stack_limit = std::max(uint32_t(value), softcuda::MachineConfig().stack_limit);
        else if (pending)
            config.pending_launches = value;
        else
            config.device_heap_bytes = value;
        machine.set_config(config);
    });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
    return in_context([&](auto& context) {
        require(config);
        *config = context->cache;
    });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
    return in_context([&](auto& context) {
        require(config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL);
        context->cache = config;
    });
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
    return in_context([&](auto& context) {
        require(config);
        *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;  // fixed since Maxwell
        (void)context;
    });
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
    return in_context([&](auto& context) {
        require(config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
                config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
        context->shared_config = config;
    });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    return in_context([&](auto&) {
        if (least) *least = 0;
        if (greatest) *greatest = -5;
    });
}

CUresult cuCtxResetPersistingL2Cache() {
    return in_context([](auto&) {});
}

// For the runtime, when a program ends: its kernels run to their end, but nobody prints what they printed, as on a GPU.
extern "C" __attribute__((visibility("default"))) void softcuda_finish_launches() {
    if (driver::forked()) return;
    static std::atomic<bool> said{false};
    for (auto& context : driver::handles().of_context<Context>(0)) {
        driver::OnDevice scope(*context->gpu);
        driver::Scheduler::get().drain(*context);
        if (context->gpu->machine.holds_printf() && !driver::quiet() && !said.exchange(true))
            driver::say(
                "the program ended without cudaDeviceSynchronize() after its last launch: what kernels printed since "
                "is "
                "lost, as on a GPU");
    }
}

// --- the primary context

namespace {

void reset_primary(Device& device) {
    if (device.primary) destroy_context(std::exchange(device.primary, nullptr));
}

}  // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice ordinal) {
    return with_device([&](Device&) {
        Device& device = driver::device(ordinal);
        require(handle);
        std::lock_guard lock(device.primary_mutex);
        if (!device.primary) device.primary = make_context(device, device.primary_flags, true);
        ++device.primary_uses;
        *handle = handle_of(device.primary);
    });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
    return with_device([&](Device&) {
        Device& device = driver::device(ordinal);
        std::lock_guard lock(device.primary_mutex);
        require(device.primary_uses > 0, CUDA_ERROR_INVALID_CONTEXT);
        if (--device.primary_uses == 0) reset_primary(device);
    });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
    return with_device([&](Device&) {
        Device& device = driver::device(ordinal);
        std::lock_guard lock(device.primary_mutex);
        reset_primary(device);
    });
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
    return with_device([&](Device&) {
        Device& device = driver::device(ordinal);
        require((flags & ~unsigned(CU_CTX_FLAGS_MASK)) == 0);
        std::lock_guard lock(device.primary_mutex);
        device.primary_flags = flags;
        if (device.primary) device.primary->flags = flags;
    });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
    return with_device([&](Device&) {
        Device& device = driver::device(ordinal);
        require(flags || active);  // an H200 refuses two nulls
        std::lock_guard lock(device.primary_mutex);
        if (flags) *flags = device.primary_flags;
        if (active) *active = device.primary != nullptr;
    });
}
