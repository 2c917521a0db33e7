// Which function a name means in which version of CUDA.  tools/entry_points.py writes the table from cudaTypedefs.h.
#pragma once

#include <cstddef>

namespace softcuda::driver {

struct EntryPoint {
    const char* name;    // "cuMemAlloc"
    int since;           // 3020
    const char* symbol;  // "cuMemAlloc_v2"
    bool per_thread;     // for programs whose default stream is one of each thread
};
extern const EntryPoint entry_points[];
extern const size_t entry_point_count;

// While it lives, the default stream of this thread's calls is CU_STREAM_PER_THREAD.
struct PerThreadDefault {
    PerThreadDefault();
    ~PerThreadDefault();
    static bool active();
};

}  // namespace softcuda::driver
