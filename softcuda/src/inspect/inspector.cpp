#include "inspect/inspector.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "inspect/checker.h"
#include "inspect/profiler.h"
#include "inspect/tracer.h"

namespace softcuda::inspect {

Observer* inspector(int device, uint32_t l1_bytes, uint32_t warps_per_sm) {
    const char* wanted = std::getenv("SOFTCUDA_INSPECT");
    if (!wanted || !*wanted) return nullptr;
    const std::string_view text = wanted, mode = text.substr(0, text.find(':'));
    const std::string record =
        std::string(text.substr(mode.size() + 1)) + "/" + std::to_string(getpid()) + "-" + std::to_string(device);
    if (mode == "profile") return new Profiler(record, l1_bytes, warps_per_sm);
    if (mode == "check") return new Checker(record);
    return new Tracer(record, wanted_trace());
}

bool is_inspection(std::string_view text) {
    const size_t colon = text.find(':');
    const std::string_view mode = text.substr(0, colon);
    return colon != text.npos && colon + 1 < text.size() && (mode == "profile" || mode == "check" || mode == "trace");
}

}  // namespace softcuda::inspect
