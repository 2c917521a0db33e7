// Error codes: the last one of each thread, their names and texts, and what softcuda refuses.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>

#include "runtime/runtime.h"

namespace softcuda::runtime {

namespace {

thread_local cudaError_t last_error = cudaSuccess;

// Errors of the runtime alone, or in other words than the driver's; the others have its numbers and texts.
const std::map<int, const char*> texts = {
    {cudaErrorInvalidConfiguration, "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "invalid pitch argument"},
    {cudaErrorInvalidSymbol, "invalid device symbol"},
    {cudaErrorInvalidHostPointer, "invalid host pointer"},
    {cudaErrorInvalidDevicePointer, "invalid device pointer"},
    {cudaErrorInvalidTexture, "invalid texture reference"},
    {cudaErrorInvalidTextureBinding, "texture is not bound to a pointer"},
    {cudaErrorInvalidChannelDescriptor, "invalid channel descriptor"},
    {cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"},
    {cudaErrorAddressOfConstant, "invalid address of constant"},
    {cudaErrorTextureFetchFailed, "fetch from texture failed"},
    {cudaErrorTextureNotBound, "cannot fetch from a texture that is not bound"},
    {cudaErrorSynchronizationError, "incorrect use of __syncthreads()"},
    {cudaErrorInvalidFilterSetting, "linear filtering not supported for non-float type"},
    {cudaErrorInvalidNormSetting, "read as normalized float not supported for data type"},
    {cudaErrorMixedDeviceExecution, "device emulation mode and device execution mode cannot be mixed"},
    {cudaErrorNotYetImplemented, "feature not yet implemented"},
    {cudaErrorMemoryValueTooLarge, "memory size or pointer value too large to fit in 32 bit"},
    {cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorInvalidSurface, "invalid surface reference"},
    {cudaErrorDuplicateVariableName, "duplicate global variable looked up by string name"},
    {cudaErrorDuplicateTextureName, "duplicate texture looked up by string name"},
    {cudaErrorDuplicateSurfaceName, "duplicate surface looked up by string name"},
    {cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorIncompatibleDriverContext, "incompatible driver context"},
    {cudaErrorMissingConfiguration, "__global__ function call is not configured"},
    {cudaErrorPriorLaunchFailure, "unspecified launch failure in prior launch"},
    {cudaErrorLaunchMaxDepthExceeded, "launch would exceed maximum depth of nested launches"},
    {cudaErrorLaunchFileScopedTex,
     "launch failed because kernel uses unsupported, file-scoped textures (texture objects are supported)"},
    {cudaErrorLaunchFileScopedSurf,
     "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are supported)"},
    {cudaErrorSyncDepthExceeded,
     "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth"},
    {cudaErrorLaunchPendingCountExceeded,
     "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"},
    {cudaErrorInvalidDeviceFunction, "invalid device function"},
    {cudaErrorSoftwareValidityNotEstablished, "integrity checks failed"},
    {cudaErrorStartupFailure, "startup failure in cuda runtime"},
    {cudaErrorApiFailureBase, "api failure base"},
    {cudaErrorContained, "Invalid access of peer GPU memory over nvlink or a hardware error"},
    {cudaErrorMpsMaxConnectionsReached,
     "the hardware resources required to support device connections have been exhausted"},
    {cudaErrorCdpNotSupported,
     "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it"},
    {cudaErrorCdpVersionMismatch, "unsupported interaction between different versions of CUDA Dynamic Parallelism"},
    {cudaErrorExternalDevice, "an async error has occured in external entity outside of CUDA"},
    {cudaErrorFunctionNotLoaded,
     "the function handle is not loaded when calling an API that requires a loaded function"},
    {cudaErrorInvalidResourceType, "one or more resources passed in are not valid resource types for the operation"},
    {cudaErrorInvalidResourceConfiguration,
     "one or more resources are insufficient or non-applicable for the operation"},
};

// After these nothing works in the process any more: cudaGetLastError does not clear them.
bool is_sticky(cudaError_t error) {
    switch (error) {
        case cudaErrorIllegalAddress:
        case cudaErrorLaunchTimeout:
        case cudaErrorAssert:
        case cudaErrorHardwareStackError:
        case cudaErrorIllegalInstruction:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorLaunchFailure: return true;
        default: return false;
    }
}

// The context's own error, which every call in it answers.
bool holds_in_context(cudaError_t error) {
    CUcontext context = nullptr;
    if (cuCtxGetCurrent(&context) || !context) return false;
    CUfunc_cache unused;
    return from_driver(cuCtxGetCacheConfig(&unused)) == error;
}

}  // namespace

cudaError_t note(cudaError_t error) {
    if (error) last_error = error;
    return error;
}

bool quiet() {
    const char* value = std::getenv("SOFTCUDA_QUIET");
    return value && *value && std::strcmp(value, "0") != 0;
}

void say(const std::string& message) {
    if (quiet()) return;
    const std::string line = "softcuda: " + message + "\n";
    for (size_t at = 0; at < line.size();) {
        const ssize_t written = ::write(2, line.data() + at, line.size() - at);
        if (written <= 0) return;
        at += size_t(written);
    }
}

cudaError_t fail(cudaError_t error, const std::string& why) {
    say(why);
    return note(error);
}

int refuse(std::atomic<bool>& said, const char* function, const char* what) {  // for refused.cpp
    if (!said.exchange(true)) say(std::string(function) + ": not supported (" + what + ")");
    return note(cudaErrorNotSupported);
}

}  // namespace softcuda::runtime

using namespace softcuda::runtime;

cudaError_t cudaGetLastError() {
    const cudaError_t error = last_error;
    if (!is_sticky(error) || !holds_in_context(error)) last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t error) {
    for (const ErrorName* each = error_names; each->name; ++each)
        if (each->code == int(error)) return each->name;
    return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
    if (auto found = texts.find(error); found != texts.end()) return found->second;
    const char* text = nullptr;
    return cuGetErrorString(CUresult(int(error)), &text) == CUDA_SUCCESS && text ? text : "unrecognized error code";
}
