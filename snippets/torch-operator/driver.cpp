// Kernels launched through the driver API: nvcc has made an image of ops.cu, and this loads it.
#include <cuda.h>

#include <stdexcept>
#include <string>

// --8<-- [start:driver]
static void check(CUresult code) {
    const char* text = "unknown error";
    if (code == CUDA_SUCCESS) return;
    cuGetErrorString(code, &text);
    throw std::runtime_error(std::string("CUDA driver: ") + text);
}

void launch(const char* kernel, unsigned blocks, unsigned x, unsigned y, void* stream, void** arguments) {
    static CUmodule module = nullptr;
    if (!module) check(cuModuleLoad(&module, IMAGE));
    CUfunction function;
    check(cuModuleGetFunction(&function, module, kernel));
    check(cuLaunchKernel(function, blocks, 1, 1, x, y, 1, 0, static_cast<CUstream>(stream), arguments, nullptr));
}
// --8<-- [end:driver]
