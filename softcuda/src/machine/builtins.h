// Functions that CUDA provides to kernels and PTX only declares.
#pragma once

#include <string>

#include "machine/program.h"

namespace softcuda {

// The operation behind `call name`, or null.  Its Op::extra is the CallSite.
Exec builtin(const std::string& name);

}  // namespace softcuda
