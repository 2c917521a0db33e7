// Values as JSON.
#pragma once

#include <string>
#include <string_view>

#include "machine/launch.h"
#include "ptx/names.h"

namespace softcuda::inspect {

inline std::string triple(const Dim3& d) {
    return "[" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + "]";
}

inline std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        if (c == '\n')
            result += "\\n";
        else if (static_cast<unsigned char>(c) < 0x20)
            result += ' ';
        else
            result += c;
    }
    return result + '"';
}

// "name": the kernel as a reader knows it, beside a key that has its symbol.
inline std::string shown_name(const Function& kernel) { return "\"name\": " + quoted(ptx::demangled(kernel.name)); }

}  // namespace softcuda::inspect
