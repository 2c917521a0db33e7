// Symbols as the reader of a message knows them.
#pragma once

#include <string>

namespace softcuda::ptx {

// "_Z3sumPfi" -> "sum(float*, int)"; a name that is not mangled C++ as it is.
std::string demangled(const std::string& symbol);

}  // namespace softcuda::ptx
