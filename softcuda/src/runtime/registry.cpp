// What a program's static initialisers register: fat binaries, and the kernels and variables in them by the addresses of
// their stand-ins on the host.  A fat binary is loaded when the first of these is used.
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/image.h"
#include "runtime/runtime.h"

namespace softcuda::runtime {

namespace {

constexpr int wrapper_magic = 0x466243b1;

struct Wrapper {  // __fatBinC_Wrapper_t of fatbinary_section.h
    int magic, version;
    const unsigned long long* data;
    const void* const* linked;  // version 2: the fat binaries of relocatable objects, to be linked; ends with null
};

struct Managed {
    void** pointer;  // through which the host reads and writes it
    std::string name;
    uint64_t generation = 0;  // of the context it was last looked up in
};

struct Image {
    const Wrapper* wrapper = nullptr;
    std::mutex mutex;  // what follows
    CUlibrary library = nullptr;
    cudaError_t error = cudaSuccess;
    int managed_on = -1;  // the device that has the managed variables
    std::vector<Managed> managed;
};

struct Kernel {
    Image* image;
    std::string name;
    CUkernel loaded = nullptr;  // guarded by the image's mutex
};

struct Variable {
    Image* image;
    std::string name;
    size_t bytes;
};

struct Registry {
    std::mutex mutex;
    std::vector<std::unique_ptr<Image>> images;
    std::unordered_map<const void*, std::unique_ptr<Kernel>> kernels;
    std::unordered_map<const void*, Variable> variables;
};

Registry& registry() {  // static initialisers of the program come before ours, destructors after
    static auto* registry = new Registry;
    return *registry;
}

int capability() {
    int major = 0, minor = 0;
    const CUdevice device = current_device();
    cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    return major * 10 + minor;
}

// One module, or several behind marks, which the driver links.
std::string text_of(const Wrapper& wrapper, std::string& why) {
    const int version = capability();
    if (wrapper.version < 2 || !wrapper.linked) return ptx_of(read_fat_binary(wrapper.data), version, why);
    std::string text;
    for (const void* const* each = wrapper.linked; *each; ++each) {
        const FatBinary binary = read_fat_binary(*each);
        const std::string ptx = ptx_of(binary, version, why);
        if (ptx.empty()) return {};
        text += "// softcuda: module " + binary.name + "\n" + ptx;
    }
    if (text.find("cudaCDP2") != text.npos) text = "// softcuda: library cudadevrt\n" + text;
    return text;
}

cudaError_t load(Image& image) {
    if (image.library || image.error) return image.error;
    if (image.wrapper->magic != wrapper_magic)
        return image.error = fail(cudaErrorInvalidKernelImage,
                                  "the program registers kernels in a form that softcuda does not know");
    std::string why;
    const std::string text = text_of(*image.wrapper, why);
    if (text.empty())
        return image.error = fail(cudaErrorNoKernelImageForDevice,
                                  "the program's kernels are " + why + ": compile it with softcuda nvcc");
    const CUresult answer = cuLibraryLoadData(&image.library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
    return image.error = from_driver(answer);
}

// Managed variables exist once for all devices, which the driver's modules do not do: they belong to one.
cudaError_t place_managed(Image& image) {
    if (image.managed.empty()) return cudaSuccess;
    const int device = current_device();
    if (image.managed_on >= 0 && image.managed_on != device)
        return fail(cudaErrorNotSupported, "__managed__ variables are used from device " +
                                               std::to_string(image.managed_on) + " and from device " +
                                               std::to_string(device) + ": softcuda has them on one device only");
    for (Managed& each : image.managed) {
        if (each.generation == context_generation()) continue;
        CUdeviceptr address = 0;
        size_t bytes = 0;
        if (CUresult answer = cuLibraryGetManaged(&address, &bytes, image.library, each.name.c_str()))
            return from_driver(answer);
        *each.pointer = reinterpret_cast<void*>(address);
        each.generation = context_generation();
    }
    image.managed_on = device;
    return cudaSuccess;
}

cudaError_t find_kernel(Kernel& kernel, CUkernel& found) {
    std::lock_guard lock(kernel.image->mutex);
    if (cudaError_t error = load(*kernel.image)) return error;
    if (cudaError_t error = place_managed(*kernel.image)) return error;
    if (!kernel.loaded)
        if (CUresult answer = cuLibraryGetKernel(&kernel.loaded, kernel.image->library, kernel.name.c_str()))
            return answer == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : from_driver(answer);
    found = kernel.loaded;
    return cudaSuccess;
}

Kernel* kernel_at(const void* host_function) {
    std::lock_guard lock(registry().mutex);
    auto found = registry().kernels.find(host_function);
    return found == registry().kernels.end() ? nullptr : found->second.get();
}

Image* image_of(void** handle) { return reinterpret_cast<Image*>(handle); }

}  // namespace

cudaError_t find_library_kernel(const void* host_function, CUkernel& kernel) {
    if (Kernel* registered = kernel_at(host_function)) return find_kernel(*registered, kernel);
    const char* name = nullptr;  // or what cudaGetKernel and cudaLibraryGetKernel gave
    kernel = static_cast<CUkernel>(const_cast<void*>(host_function));
    return cuKernelGetName(&name, kernel) ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

cudaError_t find_kernel(const void* host_function, CUfunction& kernel) {
    const char* name = nullptr;  // what cudaGetFuncBySymbol gave
    kernel = static_cast<CUfunction>(const_cast<void*>(host_function));
    if (!kernel_at(host_function) && cuFuncGetName(&name, kernel) == CUDA_SUCCESS) return cudaSuccess;
    CUkernel found = nullptr;
    if (cudaError_t error = find_library_kernel(host_function, found)) return error;
    return from_driver(cuKernelGetFunction(&kernel, found));
}

cudaError_t find_launched(cudaKernel_t handle, CUfunction& kernel) {
    if (!handle) return cudaErrorInvalidDeviceFunction;
    CUkernel found = nullptr;
    if (cudaError_t error = find_kernel(*reinterpret_cast<Kernel*>(handle), found)) return error;
    return from_driver(cuKernelGetFunction(&kernel, found));
}

cudaError_t find_symbol(const void* host_variable, CUdeviceptr& address, size_t& bytes) {
    Variable variable;
    {
        std::lock_guard lock(registry().mutex);
        auto found = registry().variables.find(host_variable);
        if (found == registry().variables.end()) return cudaErrorInvalidSymbol;
        variable = found->second;
    }
    std::lock_guard lock(variable.image->mutex);
    if (cudaError_t error = load(*variable.image)) return error;
    if (cudaError_t error = place_managed(*variable.image)) return error;
    const CUresult answer = cuLibraryGetGlobal(&address, &bytes, variable.image->library, variable.name.c_str());
    bytes = variable.bytes;
    return answer == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : from_driver(answer);
}

}  // namespace softcuda::runtime

using namespace softcuda::runtime;

#pragma GCC visibility push(default)
extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
    auto image = std::make_unique<Image>();
    image->wrapper = static_cast<const Wrapper*>(wrapper);
    std::lock_guard lock(registry().mutex);
    registry().images.push_back(std::move(image));
    return reinterpret_cast<void**>(registry().images.back().get());
}

void __cudaRegisterFatBinaryEnd(void**) {}

// Kernels under way may still use it: the driver keeps what it has until the process is gone.
void softcuda_finish_launches();
void __cudaUnregisterFatBinary(void**) { softcuda_finish_launches(); }

void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
    std::lock_guard lock(registry().mutex);
    registry().kernels[host_function] = std::make_unique<Kernel>(Kernel{image_of(handle), name});
}

void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, size_t bytes, int, int) {
    std::lock_guard lock(registry().mutex);
    registry().variables[host_variable] = {image_of(handle), name, bytes};
}

void __cudaRegisterManagedVar(void** handle, void** pointer, char*, const char* name, int, size_t bytes, int, int) {
    std::lock_guard lock(registry().mutex);
    registry().variables[pointer] = {image_of(handle), name, bytes};
    image_of(handle)->managed.push_back({pointer, name});
}

void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
void __cudaRegisterUnifiedTable(void**, void*) {}

// Before the host first touches a managed variable.
char __cudaInitModule(void** handle) {
    Image& image = *image_of(handle);
    cudaError_t error = enter();
    if (!error) {
        std::lock_guard lock(image.mutex);
        error = load(image);
        if (!error) error = place_managed(image);
    }
    note(error);
    return error == cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
    Kernel* found = kernel_at(host_function);
    *kernel = reinterpret_cast<cudaKernel_t>(found);
    return found ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

}  // extern "C"
#pragma GCC visibility pop
