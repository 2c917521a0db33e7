#include "driver/jit_options.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "driver/errors.h"

namespace softcuda::driver {

JitLog::JitLog(unsigned count, CUjit_option* options, void** values) {
    require(count == 0 || (options && values));
    for (unsigned i = 0; i < count; ++i) {
        auto size = [&] { return size_t(uint32_t(reinterpret_cast<uintptr_t>(values[i]))); };
        switch (options[i]) {
            case CU_JIT_INFO_LOG_BUFFER: info_.text = static_cast<char*>(values[i]); break;
            case CU_JIT_ERROR_LOG_BUFFER: error_.text = static_cast<char*>(values[i]); break;
            case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
                info_.capacity = size();
                info_.written = &values[i];
                break;
            case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
                error_.capacity = size();
                error_.written = &values[i];
                break;
            default: break;  // optimisation levels, targets and the like change nothing here
        }
    }
}

void JitLog::Buffer::fill(const std::string& message) {
    size_t length = 0;
    if (text && capacity) {
        length = std::min(message.size(), capacity - 1);
        std::memcpy(text, message.data(), length);
        text[length] = 0;
    }
    if (written) *written = reinterpret_cast<void*>(uintptr_t(length));
}

bool JitLog::write(const std::string& info, const std::string& error) {
    info_.fill(info);
    error_.fill(error);
    return error_.text && error_.capacity;
}

}  // namespace softcuda::driver
