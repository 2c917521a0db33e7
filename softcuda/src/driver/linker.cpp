// cuLink*: PTX goes in, an image of several PTX modules comes out (ptx/link.h says what that is), checked as nvlink would.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "driver/jit_options.h"
#include "driver/module.h"
#include "ptx/link.h"

namespace softcuda::driver {

struct LinkState : Object {
    JitLog log;
    ptx::Image inputs;
    std::string image;  // with its terminating zero: what cuModuleLoadData reads
};

namespace {

[[noreturn]] void refuse(LinkState& link, CUresult code, const std::string& why) {
    if (!link.log.write("", why) && !quiet()) say(why);
    fail(code);
}

// The device runtime is part of softcuda, so NVIDIA's library is only a wish to have it.
bool is_device_runtime(const std::string& name, const std::string& data) {
    const std::string file = name.substr(name.find_last_of("/\\") + 1);
    return file == "libcudadevrt.a" || file == "cudadevrt.lib" ||
           (data.starts_with("!<arch>\n") && data.substr(0, 65536).find("cuda_device_runtime") != data.npos);
}

void check(LinkState& link, const std::function<bool(const std::string&)>& provided) {
    try {
        ptx::link(link.inputs.inputs, provided);
    } catch (const ptx::LinkError& error) {
        refuse(link, CUDA_ERROR_INVALID_SOURCE, error.what());
    }
}

void add(LinkState& link, CUjitInputType type, std::string data, const std::string& name) {
    if (type == CU_JIT_INPUT_LIBRARY && is_device_runtime(name, data)) {
        link.inputs.device_runtime = true;
        return;
    }
    data.resize(std::min(data.size(), data.find('\0')));
    const bool text = std::all_of(data.begin(), data.begin() + long(std::min<size_t>(data.size(), 64)),
                                  [](char c) { return (c >= 32 && c < 127) || (c >= 9 && c <= 13); });
    if (data.empty() || !text || data.starts_with("!<arch>"))
        refuse(link, CUDA_ERROR_NOT_SUPPORTED,
               "cannot link " + name +
                   ": it is machine code; softcuda links PTX, and what its own nvcc made with -rdc=true, -dc or -lib");
    ptx::Image image = ptx::split_image(data, name);
    for (const ptx::LinkInput& input : image.inputs) {
        try {
            ptx::parse(input.text);
        } catch (const ptx::Error& error) {
            refuse(link, CUDA_ERROR_INVALID_PTX, input.name + ": PTX " + error.what());
        }
        link.inputs.inputs.push_back(input);
    }
    link.inputs.device_runtime = link.inputs.device_runtime || image.device_runtime;
    // What contradicts the inputs so far is refused at once; what is missing may follow.
    if (link.inputs.inputs.size() > 1) check(link, [](const std::string&) { return true; });
}

void complete(LinkState& link) {
    check(link, provided(link.inputs.device_runtime));
    link.image = ptx::join_image(link.inputs);
}

}  // namespace
}  // namespace softcuda::driver

using namespace softcuda::driver;

CUresult cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values, CUlinkState* out) {
    return in_context([&](auto& context) {
        require(out);
        auto link = std::make_shared<LinkState>();
        link->context = context->serial;
        link->log = JitLog(count, options, values);
        link->log.write("", "");
        *out = handles().add<CUlinkState>(link);
    });
}

CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void* data, size_t size, const char* name, unsigned,
                          CUjit_option*, void**) {
    return in_context([&](auto&) {
        require(data && size);
        add(*find<LinkState>(handle), type, std::string(static_cast<char*>(data), size), name ? name : "a module");
    });
}

CUresult cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char* path, unsigned, CUjit_option*, void**) {
    return in_context([&](auto&) {
        require(path);
        auto link = find<LinkState>(handle);
        std::ifstream file(path, std::ios::binary);
        if (!file) refuse(*link, CUDA_ERROR_FILE_NOT_FOUND, std::string("cannot open ") + path);
        add(*link, type, {std::istreambuf_iterator<char>(file), {}}, path);
    });
}

CUresult cuLinkComplete(CUlinkState handle, void** image, size_t* bytes) {
    return in_context([&](auto&) {
        require(image);
        auto link = find<LinkState>(handle);
        require(!link->inputs.inputs.empty(), CUDA_ERROR_INVALID_IMAGE);
        complete(*link);
        *image = link->image.data();
        if (bytes) *bytes = link->image.size() + 1;
    });
}

CUresult cuLinkDestroy(CUlinkState handle) {
    return in_context([&](auto&) {
        find<LinkState>(handle);
        handles().remove(handle);
    });
}
