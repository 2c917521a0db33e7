// Names from before today's cuda.h whose binary interface is the same, and cuGetProcAddress.
// The 32-bit interfaces of CUDA 2 and 3 (cuMemAlloc without _v2 …) are not exported: they cannot hold an address.
#include <dlfcn.h>

#include <cstring>
#include <initializer_list>
#include <string>

#include "driver/driver.h"

#undef cuCtxDestroy
#undef cuCtxPopCurrent
#undef cuCtxPushCurrent
#undef cuStreamDestroy
#undef cuEventDestroy
#undef cuEventElapsedTime
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuDevicePrimaryCtxSetFlags
#undef cuDeviceGetUuid
#undef cuMemHostRegister
#undef cuGetProcAddress

#pragma GCC visibility push(default)
extern "C" {

CUresult cuCtxDestroy(CUcontext context) { return cuCtxDestroy_v2(context); }
CUresult cuCtxPopCurrent(CUcontext* context) { return cuCtxPopCurrent_v2(context); }
CUresult cuCtxPushCurrent(CUcontext context) { return cuCtxPushCurrent_v2(context); }
CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }
CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    return cuEventElapsedTime_v2(milliseconds, start, end);
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }
CUresult cuDevicePrimaryCtxReset(CUdevice device) { return cuDevicePrimaryCtxReset_v2(device); }
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }
CUresult cuMemHostRegister(void* host, size_t bytes, unsigned flags) {
    return cuMemHostRegister_v2(host, bytes, flags);
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
    return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

}  // extern "C"
#pragma GCC visibility pop

// A symbol of this library, whatever else the process has loaded.
static void* own_symbol(const std::string& name) {
    static void* library = [] {
        Dl_info info;
        return dladdr(reinterpret_cast<void*>(&cuInit), &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                                                               : nullptr;
    }();
    return library ? dlsym(library, name.c_str()) : nullptr;
}

// `symbol` comes without a version suffix; `version` (12080 for CUDA 12.8) says which signature the caller knows.
CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t,
                             CUdriverProcAddressQueryResult* status) {
    if (!symbol || !function) return CUDA_ERROR_INVALID_VALUE;
    struct Changed {  // the signature changed with this version of CUDA
        const char *name, *suffix;
        int since;
    };
    static constexpr Changed changed[] = {
        {"cuCtxCreate", "_v4", 12050},      {"cuCtxCreate", "_v3", 11040},        {"cuCtxCreate", "_v2", 3020},
        {"cuGetProcAddress", "_v2", 12000}, {"cuGetProcAddress", "", 11030},      {"cuCtxGetDevice", "_v2", 13000},
        {"cuCtxSynchronize", "_v2", 13000}, {"cuMemPrefetchAsync", "_v2", 12020}, {"cuMemAdvise", "_v2", 12020},
    };
    *function = nullptr;
    bool listed = false;
    for (const Changed& change : changed)
        if (!std::strcmp(symbol, change.name)) {
            listed = true;
            if (!*function && version >= change.since) *function = own_symbol(std::string(symbol) + change.suffix);
        }
    if (!listed)
        for (const char* suffix : {"_v3", "_v2", ""})
            if (!*function) *function = own_symbol(std::string(symbol) + suffix);
    if (status) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
