// Modules: PTX in, kernels and variables out.
#include "driver/module.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "driver/jit_options.h"
#include "generated/profiles.h"
#include "machine/builtins.h"
#include "machine/device_runtime.h"
#include "machine/observer.h"
#include "ptx/link.h"
#include "ptx/names.h"

namespace softcuda::driver {

namespace {

bool begins_with(const void* image, const char (&magic)[5]) {  // the image may be a text that ends sooner
    return std::strncmp(static_cast<const char*>(image), magic, 4) == 0;
}

// "kernel=scale registers=16 shared=0 spill_stores=0 …", written by the compiler stand-in from what ptxas said.
void apply_note(const std::string& note, Program& program) {
    std::istringstream words(note);
    std::map<std::string, std::string> values;
    for (std::string word; words >> word;)
        if (size_t equals = word.find('='); equals != word.npos)
            values[word.substr(0, equals)] = word.substr(equals + 1);
    if (values.contains("source")) {  // base64 of the compressed text: for whoever shows it
        program.sources[values["source"]] = values["text"];
        return;
    }
    auto index = program.function_index.find(values["kernel"]);
    if (index == program.function_index.end()) return;
    Function& function = *program.functions[index->second];
    constexpr int most = 1 << 20;  // what says more, or no number, is not of the stand-in's making
    auto set = [&](const char* key, int& field) {
        auto it = values.find(key);
        int number = 0;
        if (it == values.end()) return;
        const std::string& text = it->second;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error == std::errc() && end == text.data() + text.size() && number >= 0 && number <= most) field = number;
    };
    set("registers", function.registers);
    set("shared", function.ptxas_shared);
    set("stack", function.stack_bytes);
    set("constant", function.constant_bytes);
    int stores = -1, loads = 0;
    set("spill_stores", stores);
    set("spill_loads", loads);
    if (stores >= 0) function.spill_bytes = stores + loads;
}

int target_number(const std::string& target) {  // "sm_90a" -> 90
    size_t digits = target.find_first_of("0123456789");
    return digits == target.npos ? 0 : std::atoi(target.c_str() + digits);
}

// One module, or an image that cuLinkComplete or the compiler stand-in made of several.
ptx::Module read_image(const char* text) {
    if (std::strstr(text, "// softcuda: module ") || std::strstr(text, "// softcuda: member ")) {
        ptx::Image image = ptx::split_image(text, "the module");
        return ptx::link(image.inputs, provided(image.device_runtime));
    }
    ptx::Module module = ptx::parse(text);
    std::string errors;
    bool launches = false;
    for (const std::string& symbol : ptx::undefined(module, provided(false))) {
        errors += (errors.empty() ? "Unresolved extern " : "\nUnresolved extern ") + symbol;
        launches = launches || symbol.starts_with("function '__cudaCDP2");
    }
    if (launches)
        errors +=
            "\nkernels that launch kernels must be linked with libcudadevrt: cuLinkAddFile, or PyCUDA's "
            "DynamicSourceModule";
    if (!errors.empty()) throw ptx::LinkError(errors);
    return module;
}

// Plain PTX runs on what is newer, too; sm_90a on 9.0 alone, and sm_100f on the later devices of its generation.
bool runs_on(const std::string& target, int capability) {
    const int number = target_number(target);
    if (target.ends_with('a')) return number == capability;
    if (target.ends_with('f')) return number / 10 == capability / 10 && number <= capability;
    return number <= capability;
}

// What else helps where the device cannot run PTX for `target`.
std::string other_device(const std::string& target) {
    for (size_t i = 0; i < profile_count; ++i)
        if (runs_on(target, profiles[i].major * 10 + profiles[i].minor))
            return std::string(", or set SOFTCUDA_DEVICE=") + profiles[i].id;
    return "";
}

std::string read_file(const char* path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) fail(CUDA_ERROR_FILE_NOT_FOUND, std::string("cuModuleLoad: cannot read ") + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::function<bool(const std::string&)> provided(bool device_runtime) {
    return [device_runtime](const std::string& name) {
        return in_device_runtime(name) ? device_runtime : builtin(name) != nullptr;
    };
}

void fail_missing(const std::string& what, const std::string& name, std::vector<std::string> symbols) {
    constexpr size_t most = 5;
    std::sort(symbols.begin(), symbols.end());
    std::string text = "the module has no " + what + " " + name + "; it has ";
    if (symbols.empty()) text += "no " + what + " at all";
    bool mangled = false;
    for (size_t i = 0; i < std::min(most, symbols.size()); ++i) {
        const std::string shown = ptx::demangled(symbols[i]);
        text += (i ? ", " : "") + shown + (shown == symbols[i] ? "" : " as " + symbols[i]);
        mangled = mangled || shown != symbols[i];
    }
    if (symbols.size() > most) text += " and " + std::to_string(symbols.size() - most) + " more";
    if (mangled) text += ": ask for that symbol, or declare it extern \"C\"";
    fail(CUDA_ERROR_NOT_FOUND, text);
}

std::shared_ptr<Kernel> Module::kernel(const std::string& name) {
    const Function* function = program->find(name);
    if (!function || !function->is_entry) {
        std::vector<std::string> kernels;
        for (const auto& each : program->functions)
            if (each->is_entry) kernels.push_back(each->name);
        fail_missing("kernel", name, std::move(kernels));
    }
    std::lock_guard lock(mutex);
    auto& kernel = kernels[name];
    if (!kernel) {
        kernel = std::make_shared<Kernel>();
        kernel->context = context;
        kernel->module = reinterpret_cast<CUmodule>(handle);
        kernel->program = program;
        kernel->function = function;
        kernel->ptx_version = ptx_version;
        kernel->target = target;
        handles().add<CUfunction>(kernel);
    }
    return kernel;
}

void Module::unload() {
    if (!handles().remove(reinterpret_cast<void*>(handle))) return;
    std::lock_guard lock(mutex);
    for (auto& [_, kernel] : kernels) handles().remove(reinterpret_cast<void*>(kernel->handle));
    for (uint64_t address : program->allocations) device().memory.release(address);
}

CUmodule load_module(const std::shared_ptr<Context>& context, const void* image, unsigned count, CUjit_option* options,
                     void** values) {
    require(image);
    JitLog log(count, options, values);
    auto reject = [&](CUresult code, const std::string& why) {
        // With a log buffer the message reaches the reader inside the caller's own error.
        if (!log.write("", why) && !quiet()) say(why);
        fail(code);
    };
    const char* text = static_cast<const char*>(image);
    if (begins_with(text, "\x7f\x45\x4c\x46") || begins_with(text, "\x50\xed\x55\xba") ||
        begins_with(text, "\xb1\x43\x62\x46"))
        reject(CUDA_ERROR_NO_BINARY_FOR_GPU,
               "this module is machine code for a GPU (cubin or fatbin); softcuda runs PTX: compile with nvcc -ptx");
    if (!*text) reject(CUDA_ERROR_INVALID_IMAGE, "the module is empty");

    auto module = std::make_shared<Module>();
    try {
        ptx::Module parsed = read_image(text);
        module->ptx_version = parsed.version_major * 10 + parsed.version_minor;
        module->target = target_number(parsed.target);
        const int capability = device().machine.config().capability;
        if (!runs_on(parsed.target, capability))
            reject(CUDA_ERROR_INVALID_PTX, "the PTX is for " + parsed.target +
                                               (module->target > capability ? ", newer than this device"
                                                                            : " alone, and this device is another") +
                                               " (sm_" + std::to_string(capability) + "): compile with -arch=sm_" +
                                               std::to_string(capability) + other_device(parsed.target));
        const Observer* observer = device().machine.observer();
        std::unique_ptr<Program> program = load(parsed, device().memory, observer && observer->reads_values());
        for (const std::string& note : parsed.notes) apply_note(note, *program);
        module->program = std::move(program);
    } catch (const ptx::Error& error) {
        const bool is_source = std::strstr(text, "__global__") && !std::strstr(text, ".version");
        reject(CUDA_ERROR_INVALID_PTX,
               std::string("PTX ") + error.what() +
                   (is_source ? "; CUDA C++ has to be compiled first: SourceModule, nvcc -ptx" : ""));
    } catch (const ptx::LinkError& error) {
        reject(CUDA_ERROR_INVALID_PTX, error.what());
    } catch (const LoadError& error) {
        reject(CUDA_ERROR_INVALID_PTX, error.what());
    }
    log.write("", "");
    module->context = context->serial;
    return handles().add<CUmodule>(module);
}

}  // namespace softcuda::driver

using namespace softcuda::driver;

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
    return in_context([&](auto& context) {
        require(module);
        *module = load_module(context, image, count, options, values);
    });
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoad(CUmodule* module, const char* path) {
    return in_context([&](auto& context) {
        require(module && path);
        *module = load_module(context, read_file(path).c_str(), 0, nullptr, nullptr);
    });
}

CUresult cuModuleUnload(CUmodule handle) {
    return in_context([&](auto& context) {
        auto module = find<Module>(handle);
        synchronize(context);  // kernels under way; and printf formats live in the module
        module->unload();
    });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    return with_device([&](Device&) {
        require(mode);
        *mode = CU_MODULE_EAGER_LOADING;
    });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
    return in_context([&](auto&) {
        require(function && name);
        *function = reinterpret_cast<CUfunction>(find<Module>(handle)->kernel(name)->handle);
    });
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
    return in_context([&](auto&) {
        require(count);
        *count = 0;
        for (auto& function : find<Module>(handle)->program->functions) *count += function->is_entry;
    });
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule handle) {
    return in_context([&](auto&) {
        require(functions);
        auto module = find<Module>(handle);
        for (auto& function : module->program->functions)
            if (function->is_entry && count-- > 0)
                *functions++ = reinterpret_cast<CUfunction>(module->kernel(function->name)->handle);
            else if (function->is_entry)
                break;
    });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
    return in_context([&](auto&) {
        require(name);
        auto module = find<Module>(handle);
        auto it = module->program->symbols.find(name);
        auto can_be_had = [](const auto& symbol) { return symbol.space == "global" || symbol.space == "const"; };
        if (it == module->program->symbols.end() || !can_be_had(it->second)) {
            std::vector<std::string> variables;
            for (const auto& [symbol, place] : module->program->symbols)
                if (can_be_had(place) && symbol.find_first_of("$/") == symbol.npos) variables.push_back(symbol);
            fail_missing("variable", name, std::move(variables));
        }
        if (address) *address = it->second.address;
        if (bytes) *bytes = it->second.bytes;
    });
}
