// The same kernels compiled into the extension: nvcc knows them by name, and the runtime launches them.
#include <stdexcept>
#include <string>

#include "ops.cu"

// --8<-- [start:runtime]
void launch(const char* kernel, unsigned blocks, unsigned x, unsigned y, void* stream, void** arguments) {
    const std::string name = kernel;
    const void* function = name == "gelu"                 ? (void*)gelu
                           : name == "trilinear"          ? (void*)trilinear
                           : name == "trilinear_backward" ? (void*)trilinear_backward
                           : name == "composite"          ? (void*)composite
                           : name == "composite_backward" ? (void*)composite_backward
                                                          : nullptr;
    cudaError_t code = cudaLaunchKernel(function, blocks, dim3(x, y), arguments, 0, (cudaStream_t)stream);
    if (code != cudaSuccess) throw std::runtime_error(std::string("CUDA runtime: ") + cudaGetErrorString(code));
}
// --8<-- [end:runtime]
