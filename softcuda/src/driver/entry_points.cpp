// cuGetProcAddress: functions by name and version.
#include "driver/entry_points.h"

#include <dlfcn.h>

#include <cstring>

#include "driver/driver.h"

namespace softcuda::driver {

namespace {

thread_local int per_thread_calls = 0;

// A symbol of this library, whatever else the process has loaded.
void* own_symbol(const char* name) {
    static void* library = [] {
        Dl_info info;
        return dladdr(reinterpret_cast<void*>(&cuInit), &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                                                               : nullptr;
    }();
    return library ? dlsym(library, name) : nullptr;
}

struct Answer {
    void* function = nullptr;
    bool known = false;  // under another version
};

Answer look_up(const char* name, int version, bool per_thread) {
    Answer plain, own;
    int plain_since = -1, own_since = -1;
    for (size_t i = 0; i < entry_point_count; ++i) {
        const EntryPoint& entry = entry_points[i];
        if (std::strcmp(entry.name, name)) continue;
        plain.known = true;
        Answer& answer = entry.per_thread ? own : plain;
        int& since = entry.per_thread ? own_since : plain_since;
        if (entry.since > version || entry.since < since) continue;
        since = entry.since;
        answer.function = own_symbol(entry.symbol);
    }
    if (per_thread && own.function) plain.function = own.function;
    // Functions that the header has no type for exist once.
    if (!plain.known) plain.function = own_symbol(name);
    return plain;
}

}  // namespace

PerThreadDefault::PerThreadDefault() { ++per_thread_calls; }
PerThreadDefault::~PerThreadDefault() { --per_thread_calls; }
bool PerThreadDefault::active() { return per_thread_calls > 0; }

}  // namespace softcuda::driver

using namespace softcuda::driver;

// `symbol` comes without a version suffix; `version` (12080 for CUDA 12.8) says which signature the caller knows.  That
// there is no such function is no error: `function` is null and `status` says why.
CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
    constexpr cuuint64_t all = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (!symbol || !function) return CUDA_ERROR_INVALID_VALUE;
    *function = nullptr;
    if (version < 0 || version > CUDA_VERSION || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM || flags == all)
        return CUDA_ERROR_INVALID_VALUE;
    Answer answer = look_up(symbol, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    *function = answer.function;
    if (status)
        *status = answer.function ? CU_GET_PROC_ADDRESS_SUCCESS
                  : answer.known  ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

// Tables that NVIDIA's own libraries share with its driver.  The CUDA runtime cannot do without them; NVRTC can.
CUresult cuGetExportTable(const void** table, const CUuuid* id) {
    if (!table || !id) return CUDA_ERROR_INVALID_VALUE;
    *table = nullptr;
    Dl_info caller;
    bool nvrtc =
        dladdr(__builtin_return_address(0), &caller) && caller.dli_fname && std::strstr(caller.dli_fname, "nvrtc");
    static std::atomic<bool> said{false};
    if (!nvrtc && !quiet() && !said.exchange(true))
        say("cuGetExportTable: not supported (NVIDIA's CUDA runtime needs NVIDIA's driver: compile with softcuda "
            "nvcc)");
    return CUDA_ERROR_NOT_SUPPORTED;
}

#undef cuGetProcAddress
extern "C" __attribute__((visibility("default"))) CUresult cuGetProcAddress(const char* symbol, void** function,
                                                                            int version, cuuint64_t flags) {
    return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

// For the runtime's functions of the same kind: +1 before such a call, -1 after it.
extern "C" __attribute__((visibility("default"))) void softcuda_take_per_thread_default(int change) {
    per_thread_calls += change;
}
