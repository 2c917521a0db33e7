// NVIDIA's cuda.h, with every cu* function public (everything else in the library is hidden).
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>

// cudaProfiler.h comes in a package of its own; these three are all it declares.
extern "C" {
CUresult cuProfilerInitialize(const char* config_file, const char* output_file, int output_mode);
CUresult cuProfilerStart();
CUresult cuProfilerStop();
}
#pragma GCC visibility pop
