// cuLink*: PTX goes in, PTX comes out.  One input is what PyCUDA's DynamicModule usually has; joining several, or
// cubins and device libraries, needs a real linker.
#include <fstream>
#include <iterator>

#include "driver/jit_options.h"
#include "driver/module.h"

namespace softcuda::driver {

struct LinkState : Object {
    JitLog log;
    std::string ptx;  // with its terminating zero: what cuModuleLoadData reads
};

namespace {

[[noreturn]] void refuse(LinkState& link, CUresult code, const std::string& why) {
    if (!link.log.write("", why) && !quiet()) say(why);
    fail(code);
}

void add(LinkState& link, CUjitInputType type, std::string data, const std::string& name) {
    if (type != CU_JIT_INPUT_PTX)
        refuse(link, CUDA_ERROR_NOT_SUPPORTED,
               "cannot link " + name + ": softcuda links PTX only, not cubins, objects or libraries");
    if (!link.ptx.empty())
        refuse(link, CUDA_ERROR_NOT_SUPPORTED, "cannot link " + name + ": softcuda links one PTX module, not several");
    data.resize(data.find('\0') == data.npos ? data.size() : data.find('\0'));
    try {
        ptx::parse(data);
    } catch (const ptx::Error& error) {
        refuse(link, CUDA_ERROR_INVALID_PTX, name + ": PTX " + error.what());
    }
    link.ptx = std::move(data);
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
        require(!link->ptx.empty(), CUDA_ERROR_INVALID_IMAGE);
        *image = link->ptx.data();
        if (bytes) *bytes = link->ptx.size() + 1;
    });
}

CUresult cuLinkDestroy(CUlinkState handle) {
    return in_context([&](auto&) {
        find<LinkState>(handle);
        handles().remove(handle);
    });
}
