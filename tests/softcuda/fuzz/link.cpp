// The driver's ways to hand over a module: notes of the compiler stand-in, cuLink, options and their log buffers.
// The first byte says how; the rest is the image, with a zero at its end as cuModuleLoadData needs it.
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace {

void ask_everything(CUmodule module) {
    unsigned count = 0;
    cuModuleGetFunctionCount(&count, module);
    CUfunction functions[4] = {};
    cuModuleEnumerateFunctions(functions, count < 4 ? count : 4, module);
    for (CUfunction function : functions)
        for (int attribute = 0; function && attribute < CU_FUNC_ATTRIBUTE_MAX; ++attribute) {
            int value = 0;
            cuFuncGetAttribute(&value, CUfunction_attribute(attribute), function);
            int blocks = 0, grid = 0, block = 0;
            cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 128, 0);
            cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 0);
            size_t bytes = 0;
            cuOccupancyAvailableDynamicSMemPerBlock(&bytes, function, 1, 128);
        }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static CUcontext context = [] {
        setenv("SOFTCUDA_QUIET", "1", 1);
        setenv("SOFTCUDA_MEMORY", "16M", 1);
        CUcontext made = nullptr;
        if (cuInit(0) || cuCtxCreate(&made, nullptr, 0, 0)) std::abort();
        return made;
    }();
    (void)context;
    if (!size) return 0;
    const uint8_t how = *data++;
    const size_t bytes = --size;
    // Exactly as long as the image, so that a read beyond its end shows.
    auto image = std::make_unique<char[]>(bytes + 1);
    std::memcpy(image.get(), data, bytes);
    char log[16];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_MAX_REGISTERS,
                              CU_JIT_INFO_LOG_BUFFER};
    void* values[] = {log, reinterpret_cast<void*>(uintptr_t(how & 16 ? sizeof log : 0)), nullptr, nullptr};
    CUmodule module = nullptr;
    switch (how % 4) {
        case 0: cuModuleLoadData(&module, image.get()); break;
        case 1: cuModuleLoadDataEx(&module, image.get(), 4, options, values); break;
        default: {
            CUlinkState link = nullptr;
            if (cuLinkCreate(how & 4 ? 4 : 0, options, values, &link)) break;
            auto type = CUjitInputType(how & 8 ? how >> 4 : CU_JIT_INPUT_PTX);
            size_t half = how % 4 == 2 ? bytes : bytes / 2;  // one input, or two
            cuLinkAddData(link, type, image.get(), half, how & 32 ? nullptr : "input", 0, nullptr, nullptr);
            if (half < bytes)
                cuLinkAddData(link, type, image.get() + half, bytes - half, "second", 0, nullptr, nullptr);
            void* linked = nullptr;
            size_t linked_bytes = 0;
            if (!cuLinkComplete(link, &linked, &linked_bytes)) cuModuleLoadData(&module, linked);
            cuLinkDestroy(link);
        }
    }
    if (module) {
        ask_everything(module);
        cuModuleUnload(module);
    }
    return 0;
}
