// Fat binaries: what nvcc puts into a program for its kernels.  softcuda wants the PTX.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace softcuda::runtime {

struct FatBinary {
    struct Part {
        bool is_ptx = false, compressed = false;
        int architecture = 0;  // 90
        const char* data = nullptr;
        size_t bytes = 0;
    };
    std::vector<Part> parts;
    std::string name;  // of the source, if it says so
};

// `data` begins with a fat binary's header; without parts if it does not.
FatBinary read_fat_binary(const void* data);

// The PTX of the newest architecture that a device of `capability` (90) runs, with what ptxas found out about its kernels
// where the machine code is there, too.  Empty: none; `why` then says so in words that follow a name.
std::string ptx_of(const FatBinary& binary, int capability, std::string& why);

}  // namespace softcuda::runtime
