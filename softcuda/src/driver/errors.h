// How a cu* function fails: it throws Fail, and the outermost layer turns that into a CUresult.
#pragma once

#include <string>

#include "driver/api.h"

namespace softcuda::driver {

struct Fail {
    CUresult code;
};

[[noreturn]] inline void fail(CUresult code) { throw Fail{code}; }
// With a line on stderr: CUDA's API has no place for the reason.  SOFTCUDA_QUIET=1 silences it.
[[noreturn]] void fail(CUresult code, const std::string& why);

inline void require(bool condition, CUresult code = CUDA_ERROR_INVALID_VALUE) {
    if (!condition) fail(code);
}

bool quiet();                          // SOFTCUDA_QUIET is set
void say(const std::string& message);  // "softcuda: message\n" on stderr, in one write

}  // namespace softcuda::driver
