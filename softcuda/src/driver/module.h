// Modules and the kernels in them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "machine/program.h"

namespace softcuda::driver {

struct Kernel;

// CUDA_ERROR_NOT_FOUND, with what there is in place of the `what` called `name`: its reader may have forgotten extern "C".
[[noreturn]] void fail_missing(const std::string& what, const std::string& name, std::vector<std::string> symbols);

struct Module : Object {
    std::shared_ptr<const Program> program;  // kept by launches under way
    int ptx_version = 0;                     // 90 for .version 9.0
    int target = 0;                          // 90 for sm_90
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<Kernel>> kernels;

    std::shared_ptr<Kernel> kernel(const std::string& name);  // CUDA_ERROR_NOT_FOUND
    void unload();                                            // after the context's work is done; twice does no harm
};

struct Kernel : Object {  // CUfunction
    CUmodule module = nullptr;
    std::shared_ptr<const Program> program;
    const Function* function = nullptr;
    int ptx_version = 0, target = 0;
    int max_dynamic_shared = 0;  // opted in to, bytes; 0: what is left of the default limit
    int carveout = -1;
    bool any_cluster = false;  // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    // The interface before CUDA 4: shape and parameters are set, then cuLaunchGrid runs.
    Dim3 old_block;
    unsigned old_shared = 0, old_bytes = 0;
    std::vector<std::byte> old_params;

    int static_shared() const;         // bytes
    int max_threads() const;           // a block, as registers and launch bounds allow
    int dynamic_shared_limit() const;  // bytes a launch may ask for
};

// As the device that is current has it.  CUDA_ERROR_INVALID_VALUE
int attribute_of(const Kernel& kernel, CUfunction_attribute attribute);
void set_attribute(Kernel& kernel, CUfunction_attribute attribute, int value);
// What a launch by a kernel is checked for; a cudaError_t.  `config` gets the cluster that the kernel requires.
int check_device_launch(Kernel& kernel, LaunchConfig& config, std::string& why);

// Functions that a module may call without defining them.
std::function<bool(const std::string&)> provided(bool device_runtime);

template <>
std::shared_ptr<Kernel> find<Kernel>(const void* handle);  // a CUkernel too

CUmodule load_module(const std::shared_ptr<Context>& context, const void* image, unsigned count, CUjit_option* options,
                     void** values);

}  // namespace softcuda::driver
