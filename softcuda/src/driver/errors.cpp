// Names and texts of CUresult, and how messages reach the reader.
#include "driver/errors.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "driver/driver.h"

namespace softcuda::driver {

bool quiet() {
    const char* value = std::getenv("SOFTCUDA_QUIET");
    return value && *value && std::strcmp(value, "0") != 0;
}

void say(const std::string& message) {
    std::string line = "softcuda: " + message + "\n";
    const char* rest = line.data();
    size_t left = line.size();
    while (left) {
        ssize_t written = ::write(2, rest, left);
        if (written <= 0) return;
        rest += written;
        left -= size_t(written);
    }
}

void fail(CUresult code, const std::string& why) {
    if (!quiet()) say(why);
    throw Fail{code};
}

namespace {

struct Text {
    CUresult code;
    const char *name, *text;
};

#define ENTRY(code, text) {code, #code, text}
constexpr Text texts[] = {
    ENTRY(CUDA_SUCCESS, "no error"),
    ENTRY(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    ENTRY(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    ENTRY(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    ENTRY(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    ENTRY(CUDA_ERROR_PROFILER_DISABLED, "profiler disabled while using external profiling tool"),
    ENTRY(CUDA_ERROR_PROFILER_NOT_INITIALIZED, "profiler not initialized: call cudaProfilerInitialize()"),
    ENTRY(CUDA_ERROR_PROFILER_ALREADY_STARTED, "profiler already started"),
    ENTRY(CUDA_ERROR_PROFILER_ALREADY_STOPPED, "profiler already stopped"),
    ENTRY(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
    ENTRY(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, "API call is not supported in the installed CUDA driver"),
    ENTRY(CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"),
    ENTRY(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    ENTRY(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    ENTRY(CUDA_ERROR_DEVICE_NOT_LICENSED, "device doesn't have valid Grid license"),
    ENTRY(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    ENTRY(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    ENTRY(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, "context already current"),
    ENTRY(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed"),
    ENTRY(CUDA_ERROR_UNMAP_FAILED, "unmapping of buffer object failed"),
    ENTRY(CUDA_ERROR_ARRAY_IS_MAPPED, "array is mapped"),
    ENTRY(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped"),
    ENTRY(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    ENTRY(CUDA_ERROR_ALREADY_ACQUIRED, "resource already acquired"),
    ENTRY(CUDA_ERROR_NOT_MAPPED, "resource not mapped"),
    ENTRY(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, "resource not mapped as array"),
    ENTRY(CUDA_ERROR_NOT_MAPPED_AS_POINTER, "resource not mapped as pointer"),
    ENTRY(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    ENTRY(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
    ENTRY(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, "exclusive-thread device already in use by a different thread"),
    ENTRY(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"),
    ENTRY(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    ENTRY(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, "invalid OpenGL or DirectX context"),
    ENTRY(CUDA_ERROR_NVLINK_UNCORRECTABLE, "uncorrectable NVLink error detected during the execution"),
    ENTRY(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "PTX JIT compiler library not found"),
    ENTRY(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain."),
    ENTRY(CUDA_ERROR_JIT_COMPILATION_DISABLED, "PTX JIT compilation was disabled"),
    ENTRY(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "the provided execution affinity is not supported"),
    ENTRY(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, "the provided PTX contains unsupported call to cudaDeviceSynchronize"),
    ENTRY(CUDA_ERROR_CONTAINED, "invalid access of peer GPU memory over nvlink or a hardware error"),
    ENTRY(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
    ENTRY(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    ENTRY(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found"),
    ENTRY(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, "shared object initialization failed"),
    ENTRY(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
    ENTRY(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    ENTRY(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    ENTRY(CUDA_ERROR_LOSSY_QUERY, "attempted introspection would be semantically lossy"),
    ENTRY(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    ENTRY(CUDA_ERROR_NOT_READY, "device not ready"),
    ENTRY(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    ENTRY(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    ENTRY(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    ENTRY(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, "launch uses incompatible texturing mode"),
    ENTRY(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    ENTRY(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    ENTRY(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process"),
    ENTRY(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    ENTRY(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    ENTRY(CUDA_ERROR_TOO_MANY_PEERS, "peer mapping resources exhausted"),
    ENTRY(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part or all of the requested memory range is already mapped"),
    ENTRY(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region"),
    ENTRY(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    ENTRY(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    ENTRY(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    ENTRY(CUDA_ERROR_INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space"),
    ENTRY(CUDA_ERROR_INVALID_PC, "invalid program counter"),
    ENTRY(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    ENTRY(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
    ENTRY(CUDA_ERROR_TENSOR_MEMORY_LEAK, "tensor memory not completely freed"),
    ENTRY(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    ENTRY(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    ENTRY(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
    ENTRY(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "system has unsupported display driver / cuda driver combination"),
    ENTRY(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "forward compatibility was attempted on non supported HW"),
    ENTRY(CUDA_ERROR_MPS_CONNECTION_FAILED, "MPS client failed to connect to the MPS control daemon or the MPS server"),
    ENTRY(CUDA_ERROR_MPS_RPC_FAILURE, "the remote procedural call between the MPS server and the MPS client failed"),
    ENTRY(CUDA_ERROR_MPS_SERVER_NOT_READY, "MPS server is not ready to accept new MPS client requests"),
    ENTRY(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
          "the hardware resources required to create MPS client have been exhausted"),
    ENTRY(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
          "the hardware resources required to device connections have been exhausted"),
    ENTRY(CUDA_ERROR_MPS_CLIENT_TERMINATED, "the MPS client has been terminated by the server"),
    ENTRY(CUDA_ERROR_CDP_NOT_SUPPORTED,
          "the program is using CUDA Dynamic Parallelism, which the current configuration does not support"),
    ENTRY(CUDA_ERROR_CDP_VERSION_MISMATCH, "unsupported interaction between versions of CUDA Dynamic Parallelism"),
    ENTRY(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    ENTRY(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture"),
    ENTRY(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences"),
    ENTRY(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began"),
    ENTRY(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    ENTRY(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream"),
    ENTRY(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
          "operation would make the legacy stream depend on a capturing blocking stream"),
    ENTRY(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream"),
    ENTRY(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
          "attempt to terminate a thread-local capture sequence from another thread"),
    ENTRY(CUDA_ERROR_TIMEOUT, "wait operation timed out"),
    ENTRY(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
          "the graph update was not performed because it included changes which violated constraints "
          "specific to instantiated graph update"),
    ENTRY(CUDA_ERROR_EXTERNAL_DEVICE, "an async error has occurred in external entity outside of CUDA"),
    ENTRY(CUDA_ERROR_INVALID_CLUSTER_SIZE, "a kernel launch error has occurred due to cluster misconfiguration"),
    ENTRY(CUDA_ERROR_FUNCTION_NOT_LOADED, "the function is not loaded"),
    ENTRY(CUDA_ERROR_INVALID_RESOURCE_TYPE, "invalid resource type"),
    ENTRY(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "invalid resource configuration"),
    ENTRY(CUDA_ERROR_KEY_ROTATION, "key rotation has occurred"),
    ENTRY(CUDA_ERROR_UNKNOWN, "unknown error"),
};
#undef ENTRY

const Text* lookup(CUresult code) {
    for (const Text& text : texts)
        if (text.code == code) return &text;
    return nullptr;
}

}  // namespace
}  // namespace softcuda::driver

using namespace softcuda::driver;

CUresult cuGetErrorName(CUresult error, const char** name) {
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    const Text* text = lookup(error);
    *name = text ? text->name : nullptr;
    return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** string) {
    if (!string) return CUDA_ERROR_INVALID_VALUE;
    const Text* text = lookup(error);
    *string = text ? text->text : nullptr;
    return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
