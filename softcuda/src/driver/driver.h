// What the driver remembers: the device, contexts, and the checks every cu* function begins with.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "driver/api.h"
#include "driver/errors.h"
#include "driver/handles.h"
#include "driver/scheduler.h"
#include "machine/launch.h"
#include "machine/memory.h"

namespace softcuda {
struct DeviceProfile;
}

namespace softcuda::driver {

// --- the device: there is one
struct Device {
    const DeviceProfile* profile = nullptr;
    std::string name;
    Memory memory;
    Machine machine;
    std::mutex primary_mutex;
    std::shared_ptr<Context> primary;  // guarded by primary_mutex
    int primary_uses = 0;
    unsigned primary_flags = 0;

    Device(const DeviceProfile& profile, uint64_t capacity, const MachineConfig& config);
    int attribute(CUdevice_attribute attribute, int otherwise = 0) const;
    bool has_attribute(CUdevice_attribute attribute, int& value) const;
    int profile_major() const;  // of the compute capability
};
// The same with what kernels that launch kernels ask the driver.
MachineConfig with_services(MachineConfig config);
Device& device();                     // CUDA_ERROR_NOT_INITIALIZED before cuInit
void start_device();                  // cuInit; reads SOFTCUDA_*
void check_device(CUdevice ordinal);  // CUDA_ERROR_INVALID_DEVICE

// --- contexts
struct Context : Object {
    uint64_t serial = 0;
    bool primary = false;
    unsigned flags = 0;
    int uses = 1;  // cuCtxAttach, cuCtxDetach
    std::atomic<bool> alive{true};
    std::shared_ptr<Stream> legacy;
    std::vector<std::shared_ptr<Stream>> streams;  // the legacy one too; guarded by the scheduler
    std::mutex mutex;                              // what follows
    std::map<CUlimit, size_t> limits;
    CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
    CUsharedconfig shared_config = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
    std::map<void*, unsigned> host_flags;  // cuMemHostAlloc, cuMemHostRegister
    std::vector<void*> registered;

    bool failed() const { return error_ != CUDA_SUCCESS; }
    CUresult error() const { return CUresult(error_.load()); }
    // A kernel faulted: every later call answers `code`.  The first message goes to stderr at once.
    void set_error(CUresult code, const std::string& message);

  private:
    std::atomic<int> error_{CUDA_SUCCESS};
};
std::shared_ptr<Context> make_context(unsigned flags, bool primary);
void destroy_context(const std::shared_ptr<Context>& context);
std::shared_ptr<Context> current_context();  // CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_CONTEXT_IS_DESTROYED
std::shared_ptr<Stream> stream_of(const std::shared_ptr<Context>& context, CUstream handle);
std::shared_ptr<Stream> add_stream(const std::shared_ptr<Context>& context, unsigned flags, int priority);
void synchronize(
    const std::shared_ptr<Context>& context);  // drains, prints what kernels printed, throws a sticky error

template <class T>
std::shared_ptr<T> find(const void* handle) {  // CUDA_ERROR_INVALID_HANDLE
    auto object = handles().find<T>(handle);
    require(object != nullptr, CUDA_ERROR_INVALID_HANDLE);
    return object;
}

// --- the outermost layer of every cu* function
bool forked();  // in a child process: CUDA does not survive fork()

// Nothing is thrown through the C interface.
template <class Body>
CUresult guarded(Body&& body) noexcept {
    try {
        if (forked()) return CUDA_ERROR_NOT_INITIALIZED;
        if (in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
        body();
        return CUDA_SUCCESS;
    } catch (const Fail& failure) {
        return failure.code;
    } catch (const std::bad_alloc&) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (...) {
        return CUDA_ERROR_UNKNOWN;
    }
}

// After cuInit: body(Device&).
template <class Body>
CUresult with_device(Body&& body) noexcept {
    return guarded([&] { body(device()); });
}

// With a current context that has not failed: body(const std::shared_ptr<Context>&).
template <class Body>
CUresult in_context(Body&& body) noexcept {
    return guarded([&] {
        device();
        std::shared_ptr<Context> context = current_context();
        if (context->failed()) fail(context->error());
        body(context);
    });
}

}  // namespace softcuda::driver
