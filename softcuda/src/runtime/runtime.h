// libcudart.so.13: the CUDA runtime as a thin layer over the driver library's public functions.
#pragma once

#include "driver/api.h"

#pragma GCC visibility push(default)
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include <cstdint>
#include <string>

namespace softcuda::runtime {

// --- errors
struct ErrorName {
    int code;
    const char* name;
};
extern const ErrorName error_names[];  // ends with a null name

inline cudaError_t from_driver(CUresult code) { return cudaError_t(int(code)); }  // the numbers are the same
// Notes it as the thread's last error if it is one, and gives it back.
cudaError_t note(cudaError_t error);
inline cudaError_t note(CUresult code) { return note(from_driver(code)); }
bool quiet();
void say(const std::string& message);                         // one line on stderr
cudaError_t fail(cudaError_t error, const std::string& why);  // says why, and notes the error

// --- the context
// Makes the primary context of the thread's device current if none is.  What a program made current itself stays.
cudaError_t enter();
cudaError_t start();            // cuInit, and no more
int current_device();           // of this thread, with or without a context
uint64_t context_generation();  // grows with each cudaDeviceReset

// While it lives, the default stream of this thread's calls is the thread's own.
struct PerThreadDefault {
    PerThreadDefault();
    ~PerThreadDefault();
};

// The outermost layer of functions that need a context: body() returns CUresult or cudaError_t.
template <class Body>
cudaError_t in_context(Body&& body) {
    cudaError_t error = enter();
    return error ? note(error) : note(body());
}
template <class Body>
cudaError_t started(Body&& body) {
    cudaError_t error = start();
    return error ? note(error) : note(body());
}

inline CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// --- what programs register
// The kernel of a host function's address, loaded in the current context.
cudaError_t find_kernel(const void* host_function, CUfunction& kernel);
// Or of a handle from __cudaGetKernel.
cudaError_t find_launched(cudaKernel_t handle, CUfunction& kernel);
cudaError_t find_library_kernel(const void* host_function, CUkernel& kernel);
cudaError_t find_symbol(const void* host_variable, CUdeviceptr& address, size_t& bytes);

}  // namespace softcuda::runtime
