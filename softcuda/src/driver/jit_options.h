// The log buffers of cuModuleLoadDataEx and cuLinkCreate: the only place in CUDA's API for a message.
#pragma once

#include <string>

#include "driver/api.h"

namespace softcuda::driver {

class JitLog {
  public:
    JitLog() = default;
    JitLog(unsigned count, CUjit_option* options, void** values);
    // Writes into the buffers and sets their sizes to what was written.  False: the caller gave no error buffer.
    bool write(const std::string& info, const std::string& error);

  private:
    struct Buffer {
        char* text = nullptr;
        size_t capacity = 0;
        void** written = nullptr;  // the size option's slot, which receives the length
        void fill(const std::string& message);
    };
    Buffer info_, error_;
};

}  // namespace softcuda::driver
