// cuLibrary*, cuKernel*: modules that belong to no context.  Each context that uses one loads it for itself.
#include <cstring>
#include <fstream>
#include <iterator>

#include "driver/jit_options.h"
#include "driver/module.h"

namespace softcuda::driver {

namespace {

struct Library;

struct LibraryKernel : Object {  // CUkernel
    std::weak_ptr<Library> library;
    std::string name;
    std::map<std::pair<CUdevice, CUfunction_attribute>, int> attributes;  // set by cuKernelSetAttribute
};

struct Library : Object {  // CUlibrary
    std::string ptx;
    std::mutex mutex;                                     // guards what follows
    std::map<uint64_t, CUmodule> modules;                 // by context
    std::vector<std::shared_ptr<LibraryKernel>> kernels;  // in the order of the PTX

    std::shared_ptr<LibraryKernel> kernel(const std::string& name) {
        for (auto& each : kernels)
            if (each->name == name) return each;
        std::vector<std::string> names;
        for (auto& each : kernels) names.push_back(each->name);
        fail_missing("kernel", name, std::move(names));
    }
};

bool is_ptx(const char* text) {  // machine code begins with a byte that no text has
    auto first = static_cast<unsigned char>(*text);
    return first < 0x7f && (first >= ' ' || std::strchr("\t\r\n", first));
}

std::shared_ptr<Module> module_in(const std::shared_ptr<Context>& context, Library& library, unsigned count = 0,
                                  CUjit_option* options = nullptr, void** values = nullptr) {
    std::lock_guard lock(library.mutex);
    CUmodule& handle = library.modules[context->serial];
    auto module = handles().find<Module>(handle);
    if (!module) {
        handle = load_module(context, library.ptx.c_str(), count, options, values);
        module = find<Module>(handle);
    }
    return module;
}

std::shared_ptr<Kernel> kernel_in(const std::shared_ptr<Context>& context, const LibraryKernel& kernel) {
    auto library = kernel.library.lock();
    require(library != nullptr, CUDA_ERROR_INVALID_HANDLE);
    auto function = module_in(context, *library)->kernel(kernel.name);
    std::lock_guard lock(library->mutex);
    for (auto& [key, value] : kernel.attributes)
        if (key.first == context->gpu->ordinal) set_attribute(*function, key.second, value);
    return function;
}

// The kernel as it is on a device, which need not be the current context's.
std::shared_ptr<Kernel> kernel_on(CUdevice ordinal, const LibraryKernel& kernel) {
    Device& gpu = device(ordinal);
    if (device_of_current_context() == &gpu) return kernel_in(current_context(), kernel);
    OnDevice scope(gpu);
    std::lock_guard lock(gpu.primary_mutex);
    if (!gpu.primary) gpu.primary = make_context(gpu, gpu.primary_flags, true);
    return kernel_in(gpu.primary, kernel);
}

void load(CUlibrary* out, std::string ptx, unsigned count, CUjit_option* options, void** values,
          unsigned library_options, CUlibraryOption* names) {
    require(out && (options || !count) && (names || !library_options));
    for (unsigned i = 0; i < library_options; ++i)
        require(names[i] == CU_LIBRARY_BINARY_IS_PRESERVED ||
                names[i] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE);
    auto library = std::make_shared<Library>();
    library->ptx = std::move(ptx);
    auto add = [&](const std::string& name) {
        auto kernel = std::make_shared<LibraryKernel>();
        kernel->library = library;
        kernel->name = name;
        library->kernels.push_back(kernel);
    };
    if (device_of_current_context()) {  // what is wrong with it shows now
        auto module = module_in(current_context(), *library, count, options, values);
        for (auto& function : module->program->functions)
            if (function->is_entry) add(function->name);
    } else if (is_ptx(library->ptx.c_str())) {
        try {
            for (const ptx::Function& function : ptx::parse(library->ptx).functions)
                if (function.is_entry) add(function.name);
        } catch (const ptx::Error& error) {
            JitLog log(count, options, values);
            std::string why = std::string("PTX ") + error.what();
            if (!log.write("", why) && !quiet()) say(why);
            fail(CUDA_ERROR_INVALID_PTX);
        }
    } else {
        fail(CUDA_ERROR_NO_BINARY_FOR_GPU,
             "this library is machine code for a GPU (cubin or fatbin); softcuda runs PTX: compile with nvcc -ptx");
    }
    for (auto& kernel : library->kernels) handles().add<CUkernel>(kernel);
    *out = handles().add<CUlibrary>(library);
}

void variable(CUdeviceptr* address, size_t* bytes, const Module& module, const char* name, bool managed) {
    auto it = module.program->symbols.find(name);
    require(it != module.program->symbols.end(), CUDA_ERROR_NOT_FOUND);
    const Symbol& symbol = it->second;
    Located found = locate(symbol.address);
    bool is_managed = found && found->kind == MemoryKind::managed;
    require((symbol.space == "global" || symbol.space == "const") && (is_managed || !managed), CUDA_ERROR_NOT_FOUND);
    if (address) *address = symbol.address;
    if (bytes) *bytes = symbol.bytes;
}

CUfunction function_of(const Kernel& kernel) { return reinterpret_cast<CUfunction>(kernel.handle); }

}  // namespace

// A CUkernel stands for its function in the current context wherever a CUfunction is asked for.
template <>
std::shared_ptr<Kernel> find<Kernel>(const void* handle) {
    if (auto kernel = handles().find<Kernel>(handle)) return kernel;
    return kernel_in(current_context(), *find<LibraryKernel>(handle));
}

}  // namespace softcuda::driver

using namespace softcuda::driver;

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_options, void** jit_values,
                           unsigned jit_count, CUlibraryOption* options, void**, unsigned count) {
    return with_device([&](Device&) {
        require(code);
        auto text = static_cast<const char*>(code);
        // Machine code has no end that could be seen here: what names its kind is enough to refuse it.
        load(library, is_ptx(text) ? text : std::string(text, 4), jit_count, jit_options, jit_values, count, options);
    });
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit_options, void** jit_values,
                               unsigned jit_count, CUlibraryOption* options, void**, unsigned count) {
    return with_device([&](Device&) {
        require(path);
        for (unsigned i = 0; options && i < count; ++i) require(options[i] != CU_LIBRARY_BINARY_IS_PRESERVED);
        std::ifstream file(path, std::ios::binary);
        require(bool(file), CUDA_ERROR_FILE_NOT_FOUND);
        load(library, {std::istreambuf_iterator<char>(file), {}}, jit_count, jit_options, jit_values, count, options);
    });
}

CUresult cuLibraryUnload(CUlibrary handle) {
    return with_device([&](Device&) {
        auto library = find<Library>(handle);
        std::lock_guard lock(library->mutex);
        for (auto& [serial, module_handle] : library->modules) {
            auto context = context_of(serial);
            auto module = handles().find<Module>(module_handle);
            if (!context || !module) continue;
            OnDevice scope(*context->gpu);
            Scheduler::get().drain(*context);
            context->gpu->machine.flush_printf();
            module->unload();
        }
        for (auto& kernel : library->kernels) handles().remove(reinterpret_cast<void*>(kernel->handle));
        handles().remove(handle);
    });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    return with_device([&](Device&) {
        require(kernel && name);
        *kernel = reinterpret_cast<CUkernel>(find<Library>(library)->kernel(name)->handle);
    });
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
    return with_device([&](Device&) {
        require(count);
        *count = unsigned(find<Library>(library)->kernels.size());
    });
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary handle) {
    return with_device([&](Device&) {
        require(kernels);
        auto library = find<Library>(handle);
        for (auto& kernel : library->kernels)
            if (count-- > 0)
                *kernels++ = reinterpret_cast<CUkernel>(kernel->handle);
            else
                break;
    });
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
    return in_context([&](auto& context) {
        require(module);
        *module = reinterpret_cast<CUmodule>(module_in(context, *find<Library>(library))->handle);
    });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
    return in_context([&](auto& context) {
        require(name);
        variable(address, bytes, *module_in(context, *find<Library>(library)), name, false);
    });
}

CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
    return in_context([&](auto& context) {
        require(name);
        variable(address, bytes, *module_in(context, *find<Library>(library)), name, true);
    });
}

// Functions that host and device can both call, which the device would have to announce.
CUresult cuLibraryGetUnifiedFunction(void** function, CUlibrary library, const char* name) {
    return in_context([&](auto&) {
        require(function && name);
        find<Library>(library);
        fail(CUDA_ERROR_NOT_FOUND);
    });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    return in_context([&](auto& context) {
        require(function);
        *function = function_of(*kernel_in(context, *find<LibraryKernel>(kernel)));
    });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
    return with_device([&](Device&) {
        require(library);
        auto owner = find<LibraryKernel>(kernel)->library.lock();
        require(owner != nullptr, CUDA_ERROR_INVALID_HANDLE);
        *library = reinterpret_cast<CUlibrary>(owner->handle);
    });
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
    return with_device([&](Device&) {
        require(name);
        *name = find<LibraryKernel>(kernel)->name.c_str();
    });
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
    return with_device([&](Device& device) {
        require(offset);
        auto function = kernel_on(device.ordinal, *find<LibraryKernel>(kernel))->function;
        require(index < function->params.size());
        *offset = function->params[index].offset;
        if (bytes) *bytes = function->params[index].bytes;
    });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice ordinal) {
    return with_device([&](Device&) {
        require(value);
        auto kernel = kernel_on(ordinal, *find<LibraryKernel>(handle));
        OnDevice scope(device(ordinal));
        *value = attribute_of(*kernel, attribute);
    });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice ordinal) {
    return with_device([&](Device&) {
        auto of_library = find<LibraryKernel>(handle);
        auto kernel = kernel_on(ordinal, *of_library);
        OnDevice scope(device(ordinal));
        set_attribute(*kernel, attribute, value);
        auto library = of_library->library.lock();
        require(library != nullptr, CUDA_ERROR_INVALID_HANDLE);
        std::lock_guard lock(library->mutex);
        of_library->attributes[{ordinal, attribute}] = value;  // holds in every context of the device
    });
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice ordinal) {
    return with_device([&](Device&) {
        require(config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL);
        find<LibraryKernel>(handle);  // a preference; the caches are not modelled here
        device(ordinal);
    });
}
