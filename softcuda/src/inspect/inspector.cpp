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
    if (!wanted) return nullptr;
    const std::string_view text = wanted;
    const size_t colon = text.find(':');
    if (colon == text.npos) return nullptr;
    const std::string path =
        std::string(text.substr(colon + 1)) + "/" + std::to_string(getpid()) + "-" + std::to_string(device) + ".jsonl";
    if (text.substr(0, colon) == "profile") return new Profiler(path, l1_bytes, warps_per_sm);
    if (text.substr(0, colon) == "check") return new Checker(path);
    if (text.substr(0, colon) == "trace") return new Tracer(path, wanted_trace());
    return nullptr;
}

}  // namespace softcuda::inspect
