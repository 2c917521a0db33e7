// What the driver remembers: the device, contexts, and the checks every cu* function begins with.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
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

// --- devices: SOFTCUDA_DEVICES says how many; one by default
struct Pool;
struct Device {
    CUdevice ordinal = 0;
    const DeviceProfile* profile = nullptr;
    std::string name;
    Memory memory;
    Machine machine;
    std::mutex primary_mutex;
    std::shared_ptr<Context> primary;  // guarded by primary_mutex
    int primary_uses = 0;
    unsigned primary_flags = 0;
    std::mutex pool_mutex;
    std::shared_ptr<Pool> default_pool, pool;  // guarded by pool_mutex; made when first asked for

    Device(CUdevice ordinal, const DeviceProfile& profile, uint64_t capacity, const MachineConfig& config);
    int attribute(CUdevice_attribute attribute, int otherwise = 0) const;
    bool has_attribute(CUdevice_attribute attribute, int& value) const;
    int profile_major() const;  // of the compute capability
};
// The same with what this device's kernels that launch kernels ask the driver.
MachineConfig with_services(MachineConfig config, Device& device);
// The current context's; in an engine the task's; else the first.  CUDA_ERROR_NOT_INITIALIZED before cuInit.
Device& device();
Device& device(CUdevice ordinal);  // CUDA_ERROR_INVALID_DEVICE
int device_count();
const std::vector<Device*>& all_devices();
Device* device_of_current_context();  // null: none is current
void start_devices();                 // cuInit; reads SOFTCUDA_*
bool can_access_peer(const Device& device, const Device& peer);
bool peers_share_a_link(const Device& device);  // NVLink: atomics work across it

class OnDevice {  // what device() answers in this thread while it lives
  public:
    explicit OnDevice(Device& device);
    ~OnDevice();

  private:
    Device* outer_;
};

// Addresses are unique over all devices.  This is where one lies, or nothing.
struct Located {
    Device* device = nullptr;
    std::shared_ptr<const Memory::View> view;  // keeps `allocation`
    const Allocation* allocation = nullptr;
    explicit operator bool() const { return allocation != nullptr; }
    const Allocation* operator->() const { return allocation; }
    bool holds(uint64_t address, uint64_t bytes) const { return allocation && bytes <= allocation->end() - address; }
};
Located locate(uint64_t address);

// --- contexts
struct Context : Object {
    uint64_t serial = 0;
    Device* gpu = nullptr;
    bool primary = false;
    unsigned flags = 0;
    int uses = 1;                           // cuCtxAttach, cuCtxDetach
    std::atomic<uint64_t> cut_launches{0};  // by interrupts (interrupt.h)
    std::atomic<bool> alive{true};
    std::shared_ptr<Stream> legacy;
    std::vector<std::shared_ptr<Stream>> streams;  // the legacy one too; guarded by the scheduler
    std::mutex mutex;                              // what follows
    std::map<CUlimit, size_t> limits;
    CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
    CUsharedconfig shared_config = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
    std::map<void*, unsigned> host_flags;  // cuMemHostAlloc, cuMemHostRegister
    std::vector<void*> registered;
    std::set<uint64_t> peers;  // serials of the contexts whose memory kernels of this one may use

    bool failed() const { return error_ != CUDA_SUCCESS; }
    CUresult error() const { return CUresult(error_.load()); }
    // A kernel faulted: every later call answers `code`.  The first message goes to stderr at once.
    void set_error(CUresult code, const std::string& message);

  private:
    std::atomic<int> error_{CUDA_SUCCESS};
};
std::shared_ptr<Context> make_context(Device& gpu, unsigned flags, bool primary);
void forget_peer(uint64_t serial);  // no context has access to that one's memory any more
void destroy_context(const std::shared_ptr<Context>& context);
std::shared_ptr<Context> current_context();               // CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_CONTEXT_IS_DESTROYED
std::shared_ptr<Context> find_context(CUcontext handle);  // CUDA_ERROR_INVALID_CONTEXT
std::shared_ptr<Context> context_of(uint64_t serial);     // null: gone
std::shared_ptr<Context> context_or_current(CUcontext handle);  // null: the current one
// The stream, whose context then takes the place of the current one: work may be queued from any context.
std::shared_ptr<Stream> stream_of(std::shared_ptr<Context>& context, CUstream handle);
void record_event(const std::shared_ptr<Context>& context, CUevent event, const TaskRef& task);
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
