// What a kernel needs, and how it was asked to run.
#include <algorithm>
#include <climits>

#include "driver/module.h"
#include "driver/occupancy.h"
#include "ptx/names.h"

namespace softcuda::driver {

int Kernel::static_shared() const {
    return function->ptxas_shared >= 0 ? function->ptxas_shared : int(function->static_shared);
}

int Kernel::max_threads() const {
    const Device& gpu = device();
    int most = gpu.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024);
    if (function->max_threads) most = std::min(most, int(function->max_threads));
    if (function->registers > 0) {
        int available = gpu.attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536);
        while (most > 32 && registers_of_block(function->registers, most) > available) most = (most - 1) / 32 * 32;
    }
    return most;
}

int Kernel::dynamic_shared_limit() const {
    int by_default = device().attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152) - static_shared();
    return std::max({0, by_default, max_dynamic_shared});
}

int attribute_of(const Kernel& kernel, CUfunction_attribute attribute) {
    const Function& function = *kernel.function;
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return kernel.max_threads();
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return kernel.static_shared();
        case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: return std::max(0, function.constant_bytes);
        case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
            return function.stack_bytes >= 0 ? function.stack_bytes : int(function.local_bytes);
        case CU_FUNC_ATTRIBUTE_NUM_REGS: return std::max(0, function.registers);  // 0: ptxas was not asked
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION: return kernel.target;
        case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: return 0;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return kernel.dynamic_shared_limit();
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return kernel.carveout;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: return 0;
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: return int(function.required_cluster[0]);
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: return int(function.required_cluster[1]);
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: return int(function.required_cluster[2]);
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: return kernel.any_cluster;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: return 0;
        default: fail(CUDA_ERROR_INVALID_VALUE);
    }
}

void set_attribute(Kernel& kernel, CUfunction_attribute attribute, int value) {
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
            int limit = device().attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 49152) -
                        kernel.static_shared();
            if (value < 0 || value > limit)
                fail(CUDA_ERROR_INVALID_VALUE, "cuFuncSetAttribute: kernel " + ptx::demangled(kernel.function->name) +
                                                   ": " + std::to_string(value) +
                                                   " bytes of dynamic shared memory, at most " + std::to_string(limit) +
                                                   " on this device");
            kernel.max_dynamic_shared = value;
            kernel.function->dynamic_shared_opted = value;
            break;
        }
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            require(value >= -1 && value <= 100);
            kernel.carveout = value;
            break;
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: kernel.any_cluster = value != 0; break;
        default: fail(CUDA_ERROR_INVALID_VALUE);
    }
}

}  // namespace softcuda::driver

using namespace softcuda::driver;

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
    return in_context([&](auto&) {
        require(value);
        *value = attribute_of(*find<Kernel>(handle), attribute);
    });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
    return in_context([&](auto&) { set_attribute(*find<Kernel>(handle), attribute, value); });
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
    return in_context([&](auto&) {
        require(config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL);
        find<Kernel>(handle);  // a preference; the caches are not modelled here
    });
}

CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config) {
    return in_context([&](auto&) {
        require(config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
                config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
        find<Kernel>(handle);
    });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
    return in_context([&](auto&) {
        require(module);
        *module = find<Kernel>(handle)->module;
    });
}

CUresult cuFuncGetName(const char** name, CUfunction handle) {
    return in_context([&](auto&) {
        require(name);
        *name = find<Kernel>(handle)->function->name.c_str();
    });
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* bytes) {
    return in_context([&](auto&) {
        require(offset);
        auto kernel = find<Kernel>(handle);
        require(index < kernel->function->params.size());
        *offset = kernel->function->params[index].offset;
        if (bytes) *bytes = kernel->function->params[index].bytes;
    });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
    return in_context([&](auto&) {
        require(state);
        find<Kernel>(handle);
        *state = CU_FUNCTION_LOADING_STATE_LOADED;
    });
}

CUresult cuFuncLoad(CUfunction handle) {
    return in_context([&](auto&) { find<Kernel>(handle); });
}
