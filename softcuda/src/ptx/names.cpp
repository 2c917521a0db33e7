#include "ptx/names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace softcuda::ptx {

std::string demangled(const std::string& symbol) {
    if (!symbol.starts_with("_Z")) return symbol;  // __cxa_demangle takes "f" for a type, float
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    return text && status == 0 ? text.get() : symbol;
}

}  // namespace softcuda::ptx
