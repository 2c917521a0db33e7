// A stand-in for NVIDIA's libnvJitLink.so.13, as there is one for nvcc: Python libraries (numba-cuda, cuda.core) have it
// make a cubin of the PTX they generate before the driver sees it.  Here PTX goes in and PTX comes out, by way of
// softcuda's own cuLink*.
//
// NVIDIA's header is not included: the package that has it is not needed otherwise.
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "driver/api.h"

namespace {

enum Result { success = 0, invalid_input = 3, ptx_compile = 4, internal = 6 };
enum Input { input_cubin = 1, input_ptx = 2, input_lto_ir = 3, input_any = 10 };

struct Link {
    std::vector<std::pair<std::string, std::string>> inputs;  // name, PTX
    std::string linked;                                       // with a terminating zero
    std::string error, info;
};

// cuLink* wants a context, nvJitLink does not: the primary one serves where none is current.
class SomeContext {
  public:
    SomeContext() {
        CUcontext current = nullptr;
        if (cuInit(0) || cuCtxGetCurrent(&current) || current) return;
        if (!cuDevicePrimaryCtxRetain(&current, 0)) borrowed_ = !cuCtxPushCurrent(current);
    }
    ~SomeContext() {
        if (!borrowed_) return;
        cuCtxPopCurrent(nullptr);
        cuDevicePrimaryCtxRelease(0);
    }

  private:
    bool borrowed_ = false;
};

int add(Link* link, int type, const void* data, size_t size, const char* name) {
    if (!link || !data || !size) return invalid_input;
    std::string text(static_cast<const char*>(data), size);
    while (!text.empty() && !text.back()) text.pop_back();
    auto first = static_cast<unsigned char>(text.empty() ? 0 : text[0]);
    bool is_text = first < 0x7f && (first >= ' ' || (first && std::strchr("\t\r\n", first)));
    if (type == input_any && is_text) type = input_ptx;
    // What this library answered earlier as a cubin is PTX.
    if (type != input_ptx && !(type == input_cubin && is_text)) {
        link->error = std::string("softcuda links PTX only: ") + (name ? name : "an input") + " is " +
                      (type == input_lto_ir ? "LTO-IR (compile without -dlto)" : "machine code or an object");
        return invalid_input;
    }
    link->inputs.emplace_back(name ? name : "PTX", text);
    return success;
}

int complete(Link* link) {
    if (!link) return invalid_input;
    SomeContext context;
    char log[8192] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
    CUlinkState state;
    if (cuLinkCreate(2, options, values, &state)) return internal;
    CUresult answer = CUDA_SUCCESS;
    for (auto& [name, text] : link->inputs)
        if (!answer)
            answer = cuLinkAddData(state, CU_JIT_INPUT_PTX, const_cast<char*>(text.c_str()), text.size() + 1,
                                   name.c_str(), 0, nullptr, nullptr);
    void* image = nullptr;
    size_t bytes = 0;
    if (!answer) answer = cuLinkComplete(state, &image, &bytes);
    if (!answer) link->linked.assign(static_cast<char*>(image), bytes);
    link->error = log;
    cuLinkDestroy(state);
    return answer ? ptx_compile : success;
}

int put_size(const Link* link, const std::string Link::* text, size_t* size) {
    if (!link || !size) return invalid_input;
    *size = (link->*text).size();
    return success;
}

int put(const Link* link, const std::string Link::* text, char* out) {
    if (!link || !out) return invalid_input;
    std::memcpy(out, (link->*text).data(), (link->*text).size());
    return success;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int nvJitLinkCreate(Link** link, uint32_t count, const char** options) {
    if (!link || (count && !options)) return invalid_input;
    *link = new Link;  // the options are for machine code
    return success;
}

int nvJitLinkDestroy(Link** link) {
    if (!link) return invalid_input;
    delete *link;
    *link = nullptr;
    return success;
}

int nvJitLinkAddData(Link* link, int type, const void* data, size_t size, const char* name) {
    return add(link, type, data, size, name);
}

int nvJitLinkAddFile(Link* link, int type, const char* path) {
    if (!link || !path) return invalid_input;
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file) link->error = std::string("cannot open ") + path;
    return add(link, type, text.data(), text.size(), path);
}

int nvJitLinkComplete(Link* link) { return complete(link); }
int nvJitLinkGetLinkedCubinSize(Link* link, size_t* size) { return put_size(link, &Link::linked, size); }
int nvJitLinkGetLinkedCubin(Link* link, void* out) { return put(link, &Link::linked, static_cast<char*>(out)); }
int nvJitLinkGetLinkedPtxSize(Link* link, size_t* size) { return put_size(link, &Link::linked, size); }
int nvJitLinkGetLinkedPtx(Link* link, char* out) { return put(link, &Link::linked, out); }
int nvJitLinkGetErrorLogSize(Link* link, size_t* size) { return put_size(link, &Link::error, size); }
int nvJitLinkGetErrorLog(Link* link, char* out) { return put(link, &Link::error, out); }
int nvJitLinkGetInfoLogSize(Link* link, size_t* size) { return put_size(link, &Link::info, size); }
int nvJitLinkGetInfoLog(Link* link, char* out) { return put(link, &Link::info, out); }

// From 12.3 on numba-cuda would hand over LTO-IR, which is not PTX.
int nvJitLinkVersion(unsigned* major, unsigned* minor) {
    if (!major || !minor) return invalid_input;
    *major = 12;
    *minor = 2;
    return success;
}

}  // extern "C"
#pragma GCC visibility pop
